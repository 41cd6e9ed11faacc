// Package race sets commands, readers and nodes against each other in one process, thousands of times, and has independent judges look
// at what came of it: tests/history for what clients saw and the store holds, a model of the store for what each call to it may
// answer, and a small document of turns for the engine.
//
// What holds. A round is made from a seed: which node a tab is on, who presses what at the same time, which call loses its request or
// its reply, is late or comes twice, which node dies or stands still. The nodes are the real ones, gateway included, over the
// embedded store; what is lost lies between a node and the store. A round ends when every command has a definite answer, every
// session is idle and every reader has reached the end, or it failed; a failing one prints the command that runs it again.
//
// What is trusted. The embedded store runs one command at a time; tests/history is right.
//
// What can go wrong. The seed fixes the schedule, not the goroutines: a failing round may need several tries to fail again. What only
// processes and a real Redis show (signals, sockets, fail-over) belongs to tests/multinode and tests/chaos.
package race
