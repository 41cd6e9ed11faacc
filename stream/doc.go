// Package stream holds the ordered record of a session and the readers of it: entries, cursors, changes and their answers, and
// the hub that serves a node's readers.
//
// What holds. Seqs of one incarnation are contiguous from 1; an entry's id is its epoch and its seq, and ids are compared, never
// bare numbers. A reader sees one order without a hole and without a repeat, or a reset with the whole document. Nothing is kept
// for a reader but its position: a slow one falls behind in the log and gets merged deltas, then a document.
//
// What is trusted. The store answers each script as one step and refuses an append whose id is not above the log's top. Wakes
// carry no truth: a copy is used only if it is the next id of the epoch the feed stands in; everything else is a reason to read.
// Followed logs are read again after every new subscription, and slowly without any wake.
//
// What can go wrong. A store that lost entries shows as a marker or a top id that does not follow: every reader of that session
// gets a reset. A store that cannot be read leaves readers where they are until it can.
package stream
