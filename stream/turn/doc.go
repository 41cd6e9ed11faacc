// Package turn runs turns: it takes a command to the session's owner, makes it durable, calls the model, logs every token and
// settles the run.
//
// What holds. One actor per owned session is its only writer; it stands under one epoch. A command is planned on a consistent read
// before anything is acquired and planned again under the lease; acceptance is one script call and so is settlement. At most one
// entry of a session is on its way to the log, its bytes never change, and while its outcome is unknown nothing else of that
// session is sent. A reader sees text only after the store has it. An accepted run ends in exactly one settlement: by its owner,
// or by whoever takes the lease after it. While a stop is recorded a run can only end as cancelled.
//
// What is trusted. The store's scripts compare epoch, batch, position, version, run and key in one step. The keeper says when
// this node is not sure to be the owner: then the actor accepts nothing and appends nothing, while the model call runs on into a
// bounded buffer. Nothing here trusts a clock for the safety of a write.
//
// What can go wrong. A write's outcome may be unknown: the same batch is repeated until it is definite or the lease is gone. The
// store may have lost entries that people saw: the actor acquires anew, states the run's text again and readers get a reset. A
// fenced actor latches shut and writes nothing more.
package turn
