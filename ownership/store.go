package ownership

import "context"

// Store keeps leases. Errors of all its methods: ErrUnavailable, ErrFull and RefusedError (nothing was written), UnknownError
// (it may have been); any other error is a fault of the store's answer.
type Store interface {
	// Acquire grants the lease and raises the epoch in one step. The same request again gives the same grant again. Further
	// errors: *HeldError when the session is busy elsewhere, *KnownError when the command key has a receipt.
	Acquire(ctx context.Context, r Request) (Grant, error)
	// Renew prolongs leases. The answers stand in the order of the renewals; one that failed has RenewUnknown and its error,
	// so that one shard's trouble is not another's. The returned error is only for a call that was not made at all.
	Renew(ctx context.Context, rs []Renewal) ([]Renewed, error)
	// Release gives a lease back if node, process and epoch are still those of l; otherwise it does nothing. The record stays.
	Release(ctx context.Context, l Lease) error
}

// Index lists, per node, the sessions that the node may own. It is a hint for recovery, never proof.
type Index interface {
	// IndexAdd adds keys to the index of node; those that are there stay.
	IndexAdd(ctx context.Context, node string, keys ...string) error
	// IndexRemove removes keys from the index of node; missing ones are no error.
	IndexRemove(ctx context.Context, node string, keys ...string) error
}

// Backend is what a Keeper needs.
type Backend interface {
	Store
	Index
}

// Looker reads leases.
type Looker interface {
	// Look reads a lease and the session's active run, and the store's time in milliseconds since 1970. It writes nothing.
	// A session that nobody ever owned is the zero Lease with its key.
	Look(ctx context.Context, key string) (Lease, int64, error)
	// Cut is Look, but a deadline further away than the TTL is first cut to now + TTL.
	Cut(ctx context.Context, key string) (Lease, int64, error)
}

// Peers is what a Watcher needs.
type Peers interface {
	Looker
	Index
	// Beat counts the heartbeat of node up and reads those of all nodes.
	Beat(ctx context.Context, node string) (Pulse, error)
	// Leave removes the heartbeat counter of node if its index is empty.
	Leave(ctx context.Context, node string) error
	// IndexScan reads about count keys of node's index. The first page has cursor 0; next is 0 after the last one. A key may
	// come twice.
	IndexScan(ctx context.Context, node string, cursor uint64, count int) (keys []string, next uint64, err error)
}
