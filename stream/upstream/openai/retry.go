package openai

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/stream/turn"
)

// repeat says whether a failed request may be made again.
type repeat int

const (
	repeatNever repeat = iota
	repeatOnce         // the provider has too much to do: more would prolong it
	repeatOften        // up to Retry.Max
	repeatNow          // the request was mended: at once, not counted
)

// failure is the end of an attempt.
type failure struct {
	err    *turn.SourceError
	repeat repeat
}

// again decides whether there is another attempt, and waits for it. It gives false too when the wait was ended.
//
// The rules: never after something was shown; never longer than MaxWait if the provider asks for more; what the provider asks for
// counts, plus a little, so that many waiters do not come back at once; without a wish the delay is drawn at random below a bound
// that doubles.
func (c *call) again(attempt int, fail *failure) bool {
	retry := c.s.cfg.Retry
	most := max(retry.Max, 0)
	if fail.repeat == repeatOnce {
		most = min(most, 1)
	}
	if c.shown || fail.repeat == repeatNever || attempt > most || c.ctx.Err() != nil {
		return false
	}
	bound := min(retry.Base<<min(attempt-1, 16), retry.Cap)
	wait := time.Duration(c.s.cfg.Jitter() * float64(bound))
	if asked := fail.err.RetryAfter; asked > 0 {
		if asked > retry.MaxWait {
			return false
		}
		wait = asked + time.Duration(c.s.cfg.Jitter()*float64(min(asked/10, retry.Base)))
	}
	if f := c.s.cfg.Observer.Waiting; f != nil {
		f(wait, fail.err.Code)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.ctx.Done():
		if late := stalled(c.ctx); late != nil {
			fail.err = late.err
		}
		return c.parent.Err() != nil // run then says why
	}
}

// askedWait reads how long the provider wants us to wait; 0 when it did not say.
func askedWait(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return seconds(ms / 1000)
	}
	if v := h.Get("Retry-After"); v != "" {
		if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
			return seconds(s)
		}
		if at, err := http.ParseTime(v); err == nil && at.After(now) {
			return at.Sub(now)
		}
	}
	var longest time.Duration
	for _, name := range []string{"X-Ratelimit-Reset-Requests", "X-Ratelimit-Reset-Tokens"} {
		v := strings.TrimSpace(h.Get(name))
		if d, err := time.ParseDuration(v); err == nil {
			longest = max(longest, d)
		} else if s, err := strconv.ParseFloat(v, 64); err == nil && s < 1e6 { // more is a date, not a wait
			longest = max(longest, seconds(s))
		}
	}
	return longest
}

// seconds makes a duration and keeps absurd values from turning negative.
func seconds(s float64) time.Duration {
	const most = 365 * 24 * 3600
	if s > most {
		s = most
	}
	return time.Duration(s * float64(time.Second))
}
