// Package logtest is the one suite that every store of sessions must pass: what package stream promises of a log, a document, a
// stop and a wake, on whatever it is kept.
//
// What holds after Run: each answer of the store was seen, and that a refused change changed nothing. What is trusted: the leases
// come from a store that passes leasetest and shares the keys. What is not proven here: what a server does when it fails; that is
// tested beside each store.
package logtest
