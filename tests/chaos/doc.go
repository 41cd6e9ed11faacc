// Package chaos breaks real nodes, a real Redis and the network between them under load, and lets an independent judge look at what every
// client sent and saw and at what the store holds.
//
// What holds. After each scenario the history is checked against the invariants I1 to I11; a scenario says beside that how many answers
// may have been cut, and prints its figures.
//
// What is trusted. tests/cluster and tests/redistest end what they start; the machine may be slow, but not ten times slower than its
// limits allow.
package chaos
