// Package embedded runs the store inside the process: miniredis without a listener, spoken to over buffered in-memory
// connections. It is what holdfast uses when no Redis was named, and what most tests use.
//
// What holds: nothing listens on any port. A pipeline larger than any socket buffer passes, because each direction of a
// connection holds up to 1 MiB. A subscription's handler may issue commands of its own. Everything works inside a
// testing/synctest bubble, on the bubble's clock. Close ends every goroutine that New or a connection started, even while a
// subscriber is not read or a blocking command waits; close clients first, the server after them.
//
// What is trusted: only our own code talks to this server. A malformed command ends the process, so a connection must never be
// handed to anything that came from outside.
//
// What can go wrong: keys age only in steps of Config.Tick, so a time to live is for cleaning up and never for deciding.
// Publishing waits for every subscriber to have room: a subscriber that is not read stops the whole server until its
// connection has stood still for ten seconds and is cut; so keep every subscription drained. Nothing survives Close.
package embedded
