// Package fake is a model provider to test against: an http.Handler that speaks the OpenAI chat-completions protocol and
// misbehaves on request.
//
// What holds. The text of an answer depends on prompt and seed alone; Text gives it. The slash commands of the demo model in the
// prompt choose the behaviour unless a Script says Plain. Every request is recorded before it is answered, with signals for the moment
// the handler returned and the moment it noticed that the client had left. A waiting handler ends when its client leaves.
//
// What is trusted. Its users: it is a test double, records keys as they came, and bounds nothing but the request body.
//
// What can go wrong. Everything that Script lists, and only when asked. A malformed request is answered 400, an unknown path 404, a
// wrong key 401, as providers do it.
package fake
