// Package redislog keeps sessions in Redis: their log, their document, the receipts of their commands and the stops of their runs.
//
// # What holds
//
// Every decision is one script that compares and writes in one step: incarnation, epoch, batch, position, version and lengths, the
// run to settle, the command key to accept. A change is applied whole or not at all, and once: the same batch again is answered
// "repeat" or "known". What a script answers is definite; what no answer came for is a stream.UnknownError, and the same batch is
// to be written again.
//
// Entries are appended without a script. Their id is "<epoch>-<seq>", so Redis itself refuses one below the top, which a higher
// epoch's marker raises. Appends of all sessions go through one writer over one connection (per node of a cluster): it writes at
// once when idle, and collects while a write is under way. It counts its connections, because go-redis replaces a dead one without
// an error, and behind that silence the store may have lost its tail. AppendResult.Conn is that count; a session compares it with
// the one of its last Check.
//
// Wakes go out after what they tell of is in the log. They may carry copies; they carry no truth, may be lost, doubled or late, and
// are followed by a Confirmed wake whenever the subscription begins anew.
//
// # What is trusted
//
// Redis runs a script in one step and keeps what it acknowledged. The lease package writes head, lease and markers with the keys
// and fields named in keys.go. Batch.Entries are public. Nobody else writes below "hf1:".
//
// # What can go wrong
//
// Redis can lose acknowledged writes (fail-over, restart). The next reply then comes over another connection, or a comparison
// fails: Check tells, and its caller must look. Memory can be full: an acceptance is refused whole (stream.ErrFull), a settlement
// and a stop of a run still pass. An append that was refused tells nothing about why: the same id may be there already.
package redislog
