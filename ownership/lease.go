package ownership

import "time"

// Epoch is a lease's fencing token. Per session it only rises. 0 means none.
type Epoch uint64

// Lease is the right of one node to be the owner of one session, as the store has it. Its zero value is a session that nobody
// has ever owned.
type Lease struct {
	// Key names the session: "tenant/session".
	Key string
	// Node is the owner; "" when the lease was released.
	Node string
	// Proc is the random id of the owner's process.
	Proc  string
	Epoch Epoch
	// Until is the deadline in milliseconds since 1970 by the store's clock; 0 when the lease was released.
	Until int64
	// TTL is how long a renewal lasts.
	TTL time.Duration
	// Run is the active run of the session; "" when it is idle. Acquire and Renew do not fill it.
	Run string
}

// Left is how long the lease lasts from now, in the store's milliseconds. A deadline further away than the TTL counts as the
// TTL: the store's clock must have stepped back. Never below 0.
func (l Lease) Left(now int64) time.Duration {
	left := time.Duration(l.Until-now) * time.Millisecond
	if l.TTL > 0 {
		left = min(left, l.TTL)
	}
	return max(left, 0)
}

// Far says whether the deadline lies further away than the TTL, which only a step back of the store's clock can cause.
func (l Lease) Far(now int64) bool {
	return l.TTL > 0 && time.Duration(l.Until-now)*time.Millisecond > l.TTL
}

// Request asks the store for a lease.
type Request struct {
	Key, Node, Proc string
	// Req is random per acquire and the same in all its repeats: the store recognises a repeat by it.
	Req string
	// TTL is how long the lease lasts without a renewal; the store counts in whole milliseconds.
	TTL time.Duration
	// Seen is the highest epoch of this session that the caller knows of; the new one will be higher. 0 is none.
	Seen Epoch
	// Observed is the epoch of a busy lease whose owner was observed to be gone. 0 takes idle sessions only.
	Observed Epoch
	// CommandKey is looked up among the accepted commands before anything else; "" looks up nothing.
	CommandKey string
	// Incarnation is a random id, used if the log begins a new life.
	Incarnation string
}

// Grant is the store's yes.
type Grant struct {
	Epoch Epoch
	// Incarnation is the log's life.
	Incarnation string
	// Seq is the seq that the epoch's marker carries: the last entry's, 0 on an empty log. The next entry is Seq+1.
	Seq uint64
	// Fresh says that this grant began a new incarnation: the session is new, or its log or its head was lost.
	Fresh bool
	// Run is the active run that the new owner has to end; "" when idle.
	Run string
	// PrevEpoch and PrevNode are what the lease said before; PrevNode is "" after a release.
	PrevEpoch Epoch
	PrevNode  string
	// Now is the store's time in milliseconds since 1970.
	Now int64
}

// Renewal asks to prolong one lease.
type Renewal struct {
	Key, Node, Proc string
	Epoch           Epoch
	TTL             time.Duration
	// Run is the active run, to learn of a stop for it; "" when idle.
	Run string
}

// Renewed is the answer to a renewal.
type Renewed struct {
	Status RenewStatus
	// Until is the new deadline (store's milliseconds) with RenewOK.
	Until int64
	// Higher is the epoch that the store has, with RenewLost.
	Higher Epoch
	// Stop says that a stop for the renewal's run is recorded. It is told with every status.
	Stop bool
	// Err is set with RenewUnknown.
	Err error
}

// RenewStatus is what became of a renewal.
type RenewStatus int

// The answers to a renewal.
const (
	RenewUnknown RenewStatus = iota // no answer, or the store could not say; try again
	RenewOK                         // prolonged: same epoch, so nobody came between
	RenewLost                       // another owner has or had it
	RenewGone                       // the record is missing or from the past: refuse, never assume
)

// Pulse is the answer to a heartbeat.
type Pulse struct {
	// Counters are the heartbeat counters of all nodes.
	Counters map[string]int64
	// Now is the store's time in milliseconds since 1970.
	Now int64
}
