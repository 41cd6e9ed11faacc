// Package client speaks holdfast's protocol from Go: commands with typed answers, events in order, and a cursor for every session.
//
// What holds. Events come from Next in the order in which the server sent them, none left out; those received before the connection
// ended come first, then its error. Cursor names the last event received of a session, so that an attach on a new connection goes on
// where this one ended, provided that the old one's events were read to the end. A command without a key gets a UUID.
//
// What is trusted. The server's frames; one that cannot be read ends the connection.
//
// What can go wrong. A command whose connection ended has no known outcome: send it again with the same key on a new connection; the
// first receipt comes back if it had been accepted. Reconnecting is the caller's: CloseError.ComeBack says whether it makes sense.
package client
