// Package gateway is holdfast's door: WebSockets, the HTTP calls beside them, who may come in, and the limits.
//
// What holds. The answers and events of one session reach a socket in order: the answer to an attach before its events, the answer to
// a send before its run's started event. Commands of one session and socket are worked on one after the other (a cancel overtakes
// them, since it may be about the one that waits), those of different sessions beside each other, and no more than MaxInflight of
// them. Nothing is queued for a reader but control frames, bounded in bytes: events are pulled when the socket takes them, so a slow
// reader falls behind in the log. A panic in a command is answered "internal" and ends nothing.
//
// What is trusted. The engine and the hub: this package decides nothing about turns. Errors that it does not know become "internal"
// and their text stays in the log. Authenticate decides who somebody is; without it everybody is the tenant Config.Tenant, and only
// loopback Host names are let in unless Insecure is set.
//
// What can go wrong. A peer that does not read is cut after WriteTimeout without progress, or by CloseSlow when its control frames
// overflow; one that does not answer pings after PongTimeout. A socket that cannot be attached to a run which it started is closed
// with CloseOverloaded, so that the client comes back with its cursor instead of waiting for events that never come.
package gateway
