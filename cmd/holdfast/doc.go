// Command holdfast is a WebSocket gateway between chat pages and language models.
//
// The bare command serves: an embedded store and a demo model, on a loopback address, with nothing to set up. This package alone
// knows which parts there are: it reads the settings, builds the parts, runs them and stops them in reverse order.
package main
