// Package history is an independent checker of what holdfast promises. A test records what its clients sent and saw and what
// the store held; Check then goes through the invariants I1 to I11 of the design and names each one that does not hold.
//
// What holds. The package reads: it writes nothing to a store and decides nothing for a client. It has its own reading of the
// wire and of the stored form, and its own fold of events into a document, so that a fault of the product is not also a fault of
// its checker. Two things it does take from the product, because they are definitions and not behaviour: the form of positions
// (package stream) and the revision of a document (regen.Document.Revision).
//
// What is trusted. The frames of a reader are recorded in the order in which they came, all of them, and a reader's new connection is
// announced before its first frame. Commands are recorded with their outcome; one whose answer never came says Unknown. A dump
// is one transaction.
//
// What can go wrong. A checker can only judge what it was shown: a reader that came in the middle of a run proves nothing about
// the text before, a session without a dump proves nothing about the store. Options.StoreLost is for tests that make Redis forget
// acknowledged writes; it turns off what no gateway could hold then.
package history
