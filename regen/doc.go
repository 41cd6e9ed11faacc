// Package regen decides what happens to a conversation: what a command would change (plan), what its acceptance changes
// (commit) and what the end of a run changes (settle). It is pure: values in, values out; it does no I/O, reads no clock and
// makes no random value. Times and identifiers are arguments.
//
// # What holds
//
//   - A Document is an immutable value. Every operation returns a new one; a refused operation returns none, so there is
//     nothing to roll back. Two documents may share rows: never change a Row that came out of one.
//   - The user row of an accepted turn stands exactly once in display and once in context, whatever the outcome. It is found
//     by row id and turn id, never by equal text.
//   - An Edit applied to the stored lists gives exactly the elements of the Document beside it.
//   - A won command always changes the revision (RowsVersion is hashed and only rises), so a double click loses; also an edit that
//     brings back rows which stood there before. A rename alone changes no revision.
//   - An edit cuts both lists at once and leaves no context element of a row that goes.
//   - Only the run named in Document.Active can be settled, and only once: a missing active run is a refusal.
//   - Plan, Commit and Settle look at the last exchange alone. Rows below the window are known by their number and one chain
//     value; a cut costs one hash per list. What an operation costs does not depend on the length of the window: it copies the
//     list headers of the last few rows, and the rest is shared (window.go). The exceptions are an exchange of more rows than
//     that, which only imports have, and Prompt, which reads all.
//
// # What is trusted
//
// The caller passes fresh identifiers and a true time; the store applies an Edit only to the version and the lengths that it
// names. Elements read from the store are trusted to be what an Edit wrote; their chain values are taken over, not recomputed.
//
// # What can go wrong
//
// Refusals are typed, see errors.go. ErrWindow is not one: it asks the caller to load more rows (of both lists) and to plan
// again. Where the context of an imported session has rows of its own and the exchange to cut lies among them, the alignment
// needs both lists whole, so ErrWindow comes until nothing lies below the window.
package regen
