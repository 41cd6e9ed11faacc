// Package cluster runs real holdfast processes over one Redis, for tests that kill, pause, restart and cut them off, and gives them
// clients whose every command and frame is recorded for tests/history.
//
// What holds. The program is built once per test binary, with the race detector when the test has it. Nodes listen on free loopback
// ports and are ready when Start or Restart returns. Everything ends with the test, also when the test is killed; a node that ended by
// itself, printed a data race or a panic fails the test, and a failed test shows what its nodes wrote.
//
// What is trusted. The line "holdfast: listening on URL" on standard output, and /readyz.
//
// What can go wrong. Signals are sent to whole processes: a paused node keeps its sockets, a killed one releases nothing. A restarted node has
// its name again and another address. The methods may be called from several goroutines, but one node is one goroutine's at a time.
package cluster
