// Package openai is the model source for every server that speaks the OpenAI chat-completions protocol.
//
// # What holds
//
//   - An answer ends without an error only when the provider said why it ended. A body that ends otherwise, in whatever way, is a
//     *turn.SourceError; the deltas before it stand.
//   - A request is repeated only while nothing of the answer has been yielded, by the rules of retry.go, and never more often than
//     Config.Retry says.
//   - Deltas are valid UTF-8 and never end inside a character. A tool call is yielded once, whole, after the text.
//   - When ctx ends, the connection is closed at once, not drained, and ctx's cause is yielded. Generate leaves no goroutine.
//   - The key reaches no error and no log. The provider's address and its own words reach no SourceError.Message. Its words are logged
//     at debug level alone, shortened and without what looks like a part of the key.
//
// # What is trusted
//
// The configuration, and TLS. The provider is trusted to bill honestly and nothing else: lines, bodies and tool calls are bounded,
// every wait has a clock, redirects are not followed (they would carry the key along).
//
// # What can go wrong
//
// Everything that turn.SourceError's codes name. upstream_auth, and upstream_invalid for a wrong address, will not mend themselves:
// their messages say what to change. Broken or missing end marks, error objects inside a successful stream, pages instead of answers
// and the like are told apart in stream.go and whole.go; the tests name them by the numbers of the quirks.
//
// # Clocks
//
// Config.Clocks names them. They do not run while the reader of the deltas is busy, except for Total.
package openai
