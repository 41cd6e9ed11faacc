package main

// The patterns leave out what takes seconds and says the same on another server; what only those can tell is asked second.
var lease = []string{"ownership/redislease ^(TestConformance|TestRenewalAsksForTheProcess)$"}

var acquireFaults = in("ownership/redislease/acquire.lua", lease,
	fault{name: "acquire-forgets-stored-epoch", old: `math.max(num(lepoch) + 1, num(h[2]) + 1,`, new: `math.max(num(h[2]) + 1,`},
	fault{name: "acquire-forgets-log-top", old: ` tope + 1, now,`, new: ` now,`},
	fault{name: "acquire-forgets-highest-seen", old: `, num(ARGV[5]) + 1)`, new: `)`},
	fault{name: "acquire-takes-busy-before-deadline", old: `if till > now or ARGV[7] == ''`, new: `if ARGV[7] == ''`},
	fault{name: "acquire-ignores-observed-epoch", old: ` or ARGV[7] ~= lepoch then`, new: ` then`},
	fault{name: "acquire-leaves-far-deadline", old: `if num(l[5]) > 0 and till > far then`, new: `if false then`},
	fault{name: "acquire-grants-a-repeat-anew", old: `if l[6] == req and lnode`, new: `if false and lnode`},
	fault{name: "acquire-marks-at-heads-seq", old: `tope, seq = tonumber(e), tonumber(s)`, new: `tope = tonumber(e)`},
	fault{name: "acquire-goes-on-without-log", old: `if not inc or not top[1] then`, new: `if not inc then`},
	fault{name: "acquire-ignores-known-key", old: `if v then return {'key', v} end`, new: ``},
	fault{name: "acquire-keeps-batch", old: `'batch', '0', 'seq'`, new: `'seq'`},
	fault{name: "acquire-wakes-nobody", old: `if ARGV[9] ~= '' then redis.pcall`, new: `if false then redis.pcall`},
	fault{name: "acquire-needs-memory-to-take-over", old: `if had then redis.call('HDEL', lease, '-') end`, new: ``},
)

var leaseFaults = append(in("ownership/redislease/renew.lua", lease,
	fault{name: "renew-ignores-epoch", old: ` and l[3] == epoch then`, new: ` then`},
	fault{name: "renew-ignores-process", old: ` and l[2] == proc`, new: ``},
	fault{name: "renew-hides-stop", old: `then stop = '1' end`, new: `then stop = '' end`},
	fault{name: "renew-needs-memory", old: "  redis.call('HDEL', lease, '-')\n  local l", new: `  local l`},
	fault{name: "renew-assumes-missing-record", old: `status, number = 'gone', '0'`, new: `status, number = 'ok', string.format('%.0f', now + ttl)`},
), in("ownership/redislease/release.lua", lease,
	fault{
		name: "release-by-anybody", old: `if l[1] ~= ARGV[1] or l[2] ~= ARGV[2] or l[3] ~= ARGV[3] then`,
		new: `if l[1] ~= ARGV[1] then`,
	},
	fault{name: "release-deletes-record", old: `redis.call('HSET', KEYS[1], 'node', '', 'until', '0')`, new: `redis.call('DEL', KEYS[1])`},
	fault{name: "release-deletes-session", old: `if (h[1] or '0') == '0' and (`, new: `if (`},
)...)

var keeper = []string{"ownership !^(TestKilledOwnerIsFound|TestClockStep)$"}

var keeperFaults = append(in("ownership/held.go", keeper,
	fault{
		name: "keeper-trusts-grant-from-reply", old: `h.sureUntil.Store(int64(asked + k.cfg.TTL - k.cfg.Margin))`,
		new: `h.sureUntil.Store(int64(k.now() + k.cfg.TTL - k.cfg.Margin))`,
	},
	fault{
		name: "keeper-trusts-renewal-from-reply", old: `sure := asked + h.k.cfg.TTL - h.k.cfg.Margin`,
		new: `sure := now + h.k.cfg.TTL - h.k.cfg.Margin`,
	},
	fault{
		name: "keeper-grants-without-margin", old: `h.sureUntil.Store(int64(asked + k.cfg.TTL - k.cfg.Margin))`,
		new: `h.sureUntil.Store(int64(asked + k.cfg.TTL))`,
	},
	fault{
		name: "keeper-renews-without-margin", old: `sure := asked + h.k.cfg.TTL - h.k.cfg.Margin`, new: `sure := asked + h.k.cfg.TTL`,
	},
	fault{
		name: "keeper-shortens-trust", old: `if int64(sure) > h.sureUntil.Load() {`, new: `if true {`,
		reason: "one renewal of a lease is under way at a time, so a later answer is always one to a later question",
	},
	fault{name: "keeper-renews-a-wedged-actor", old: `if answers && lost == ""`, new: `if lost == ""`},
	fault{name: "keeper-never-ends-a-wedged-actor", old: `case now-h.mute > h.k.cfg.TTL:`, new: `case false:`},
	fault{name: "keeper-ignores-higher-epoch", old: `h.lose(LostHigher, r.Higher)`, new: ``},
	fault{name: "keeper-ignores-missing-record", old: `h.lose(LostGone, 0)`, new: ``},
	fault{name: "keeper-doubts-for-ever", old: `if doubt > h.k.cfg.Doubt {`, new: `if false {`},
	fault{name: "keeper-gives-up-at-first-doubt", old: `if doubt > h.k.cfg.Doubt {`, new: `if doubt >= 0 {`},
	fault{name: "keeper-is-always-sure", old: `int64(h.k.now()) < h.sureUntil.Load()`, new: `h.sureUntil.Load() > 0`},
	fault{name: "keeper-hides-stop", old: `if r.Stop && run != ""`, new: `if false && run != ""`},
	fault{name: "keeper-renews-twice-at-once", old: `&& !h.inFlight && now >= h.due`, new: `&& now >= h.due`},
	fault{name: "keeper-tells-no-doubt", old: "\tcase h.changed <- struct{}{}:\n", new: "\tcase make(chan struct{}, 1) <- struct{}{}:\n"},
), in("ownership/keeper.go", keeper,
	fault{name: "keeper-lets-older-grant-win", old: `case old != nil && old.Epoch() > h.Epoch():`, new: `case false:`},
)...)

var watcher = []string{"ownership"}

var watcherFaults = append(append(in("ownership/pulse.go", watcher,
	fault{name: "watcher-does-not-damp", old: "\t\tw.damp(now)\n", new: ""},
	fault{name: "watcher-damps-for-no-time", old: `w.quiet = now + w.cfg.RenewEvery + w.cfg.CallTimeout`, new: `w.quiet = now`},
	fault{
		name: "watcher-keeps-sights-when-damped", old: "\tclear(w.seen)\n", new: "",
		reason: "the quiet time after a damping is longer than a stand-still has to be, and an owner that lives renews in it",
	},
	fault{name: "watcher-buries-at-second-sight", old: `case sent-o.since >= w.cfg.StandStill:`, new: `case sent >= o.since:`},
	fault{name: "watcher-counts-from-question", old: `case sent-o.since >= w.cfg.StandStill:`, new: `case now-o.since >= w.cfg.StandStill:`},
	fault{name: "watcher-misses-clock-step", old: `if step.Abs() > w.cfg.Silence {`, new: `if false {`},
	fault{name: "watcher-misses-silence", old: `if passed > w.cfg.Silence {`, new: `if false {`},
), in("ownership/observe.go", watcher,
	fault{name: "watcher-ignores-stand-still", old: `wait = max(wait, w.cfg.StandStill-(mono-s.since))`, new: ``},
	fault{name: "watcher-ignores-deadline", old: `wait = max(w.quiet-mono, l.Left(now))`, new: `wait = w.quiet - mono`},
	fault{
		name: "watcher-takes-in-silence", old: `if !w.beaten || mono-w.answered > w.cfg.Silence {`, new: `if !w.beaten {`,
	},
	fault{name: "watcher-keeps-moved-deadline", old: ` || s.until != l.Until {`, new: ` {`},
)...), in("ownership/follow.go", watcher,
	fault{
		name: "watcher-removes-an-entry-not-taken", old: `if err == nil && after.Node != node {`, new: `if err == nil && after.Node == after.Node {`,
		reason: "open: needs a store that moves the lease back between two looks; owners write lost entries again with every renewal",
	},
	fault{
		name: "watcher-takes-from-the-revived", old: `return !w.dead(node)`, new: `return false`,
		reason: "open: Observe asks for the heartbeat again, and a revived owner's first renewal moves the deadline; this look only ends the wait sooner",
	},
)...)
