// Package multinode proves, over real processes, a real Redis and real sockets, that a session belongs to nobody's node: every word is seen
// on every node, a stop works from anywhere, a race has one winner, and a killed owner's run is settled once.
//
// What holds. After each test the history of all clients is checked against the invariants of docs/protocol.md's promises, named I1 to I11.
//
// What is trusted. tests/cluster starts and ends the processes; tests/history judges.
package multinode
