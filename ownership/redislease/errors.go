package redislease

import (
	"errors"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"holdfast/ownership"
)

// later are the beginnings of refusals that go away: fail-over, resharding, loading, a script that runs too long.
var later = []string{
	"MOVED ", "ASK ", "TRYAGAIN", "CLUSTERDOWN", "READONLY", "LOADING", "MASTERDOWN", "NOREPLICAS", "BUSY ", "NOSCRIPT",
	"max number of clients reached",
}

// classify sorts a client's error into the classes of package ownership. What is not certainly "nothing was written" is unknown.
func classify(err error) error {
	if err == nil {
		return nil
	}
	var (
		refusal redis.Error
		dial    *net.OpError
	)
	switch {
	case errors.As(err, &refusal):
		return refused(err)
	case errors.As(err, &dial) && dial.Op == "dial",
		errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted), errors.Is(err, redis.ErrClosed):
		return errors.Join(ownership.ErrUnavailable, err)
	}
	return &ownership.UnknownError{Err: err}
}

func refused(err error) error {
	if redis.HasErrorPrefix(err, "OOM") {
		return errors.Join(ownership.ErrFull, err)
	}
	for _, p := range later {
		if redis.HasErrorPrefix(err, p) {
			return errors.Join(ownership.ErrUnavailable, err)
		}
	}
	// A script that raises after a write has written. Ours read first, so only a key of another kind gets here, unwritten.
	if strings.Contains(err.Error(), "-READONLY") {
		return errors.Join(ownership.ErrUnavailable, err)
	}
	return &ownership.RefusedError{Err: err}
}
