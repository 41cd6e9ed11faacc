package redislease

import "github.com/redis/go-redis/v9"

// Strict makes the server check that scripts touch declared keys alone, until the returned func is called.
func Strict() (restore func()) {
	type script struct {
		p    **redis.Script
		text string
	}
	all := []script{
		{&acquireScript, acquireText},
		{&renewScript, renewText},
		{&releaseScript, releaseText},
		{&lookScript, lookText},
		{&beatScript, beatText},
		{&indexScript, indexText},
	}
	for _, s := range all {
		*s.p = redis.NewScript("#!lua\n" + s.text)
	}
	return func() {
		for _, s := range all {
			*s.p = redis.NewScript(s.text)
		}
	}
}

// Classify is classify.
var Classify = classify
