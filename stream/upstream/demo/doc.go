// Package demo is a model that needs no key and no network: what a newcomer talks to before any provider is set up, and what
// tests compare answers with.
//
// What holds. The text of an answer depends on the prompt and the run alone: Script gives it, on every node, in every process.
// Another run of the same prompt gives another text, so a regenerate is visible. The pieces of an answer, joined, are exactly
// Script's text; no piece ends inside a character, and none between the code points of one emoji. A source that ended without an
// error ended with a Finish.
//
// What is trusted. Nothing: any prompt is answered, and a command with a bad argument is answered with how to write it.
//
// What can go wrong. Only what a command asks for: /error and /overload fail before the first piece, /error-mid after some text,
// and /stall goes silent until its context ends.
package demo
