// Package ownership decides which node may be the owner of a session: it acquires leases, renews them, and ends a node's belief
// that it owns something when that belief is no longer good. It also watches the other nodes, so that what a dead one owned is
// found and ended.
//
// # What holds
//
// A lease is a record in the store, never deleted by a release or an expiry. Its epoch only rises, also when the store lost its
// memory. Whoever has the highest epoch can write; the store itself refuses all others. So nothing in this package is needed for
// safety: it decides when somebody may try, and when somebody should stop.
//
// A Held is sure from the moment before the successful request was sent until TTL minus a margin later, by this process' monotonic
// clock. After that it is doubtful: its holder accepts, appends and shows nothing. A late renewal that finds the same epoch makes
// it sure again: nobody came between. A higher epoch, a missing record, a doubt longer than Config.Doubt or an actor that does not
// answer for a TTL ends Held.Context.
//
// An epoch belongs to one actor. A second Acquire of the same key in the same process ends the first Held.
//
// A busy lease (one with an active run) is taken only with the epoch that was observed, after its deadline, and after the owner's
// heartbeat or this very deadline stood still for StandStill during which the store answered; see Watcher. An outage of the store
// therefore cuts no run: afterwards owners get the time to renew before anybody takes anything.
//
// # What is trusted
//
// The store runs each of its calls in one step, and decides deadlines by its own clock. The monotonic clock of the process. No
// wall clock of a node enters any decision.
//
// # What can go wrong
//
// A call can end unknown (UnknownError): it is repeated with the same request id until it is definite. If the caller's context
// ends first, this node may own a session without knowing it. The index of the node, written before acquiring, names that session,
// and the Watcher finds it on its walk. The index is a hint, never proof: an entry too many costs a look.
package ownership
