// Package wire is the form of holdfast's protocol: commands are read, frames are written. docs/protocol.md is the same in prose.
//
// What holds. A command that Decode returns has the right types, known limits and text without NUL or lone surrogates; fields that
// its op does not use were not looked at. Every frame that an Append function writes is one JSON object without a line break, so
// that frames may be joined by newlines. Text goes through unchanged, byte for byte, if it is valid UTF-8.
//
// What is trusted. Values of type json.RawMessage that are given to the Append functions are valid JSON without line breaks: rows
// come from the store as compact JSON, ids of commands come from Decode.
//
// What can go wrong. Decode's error is an *Error with the code for the client; the command that comes with it carries the id, if it
// could be read, so that the answer finds its question.
package wire
