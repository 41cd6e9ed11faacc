// Package redislease keeps leases in Redis, or in anything that runs Redis' scripts.
//
// # What holds
//
// Each call is one script (Renew: one per chunk of leases), so it happens whole or not at all. All keys of a session share one hash
// tag; only Renew with a Chunk above 1 touches several sessions, which Redis Cluster forbids. Every script may run twice. Acquire,
// Renew, Release and the index calls work when the server's memory is full, as far as the lease exists.
//
// # What is trusted
//
// Redis' TIME, for deadlines alone. That the client never repeats a command by itself: it must have MaxRetries -1 and
// ContextTimeoutEnabled, and must not read from replicas.
//
// # What can go wrong
//
// A time-out or a broken connection after the command was sent is ownership.UnknownError. What Redis refuses is told apart by whether
// trying again makes sense: ownership.ErrUnavailable, ownership.ErrFull, ownership.RefusedError.
package redislease
