package redislog

import "holdfast/regen"

// sessionKeys are the names of one session's keys. All share one hash tag, so they lie in one slot of a cluster.
type sessionKeys struct {
	lease, head, doc, rows, ctx, vars, log, cancel, keys, keys2, wake string
}

func keysOf(k regen.Key) sessionKeys {
	tag := tagOf(k)
	return sessionKeys{
		lease: tag + ":lease", head: tag + ":head", doc: tag + ":doc", rows: tag + ":rows", ctx: tag + ":ctx", vars: tag + ":var",
		log: tag + ":log", cancel: tag + ":cancel", keys: tag + ":keys", keys2: tag + ":keys2", wake: tag + ":wake",
	}
}

func tagOf(k regen.Key) string { return "hf1:{" + k.Tenant + "/" + k.Session + "}" }

func logKey(k regen.Key) string      { return tagOf(k) + ":log" }
func wakeChannel(k regen.Key) string { return tagOf(k) + ":wake" }

// nodeChannel is the channel on which a node learns of stops.
func nodeChannel(node string) string { return "hf1:{node:" + node + "}:wake" }

// sessionsKey is the sorted set of a tenant's sessions, by activity in milliseconds. It lies in another slot than the sessions.
func sessionsKey(tenant string) string { return "hf1:{" + tenant + "}:sessions" }
