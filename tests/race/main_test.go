package race_test

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

var (
	rounds = flag.Int("rounds", 0, "how many rounds to run; 0: as many as fit the time of a usual run")
	seed   = flag.Uint64("seed", 0, "the first round's seed; 0: the usual one")
)

func TestMain(m *testing.M) {
	_ = flag.Set("rapid.nofailfile", "true") // a failure is printed; nothing is left in the tree
	redis.SetLogger(quiet{})                 // a store that is away is what some tests are about
	goleak.VerifyTestMain(m)
}

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// limit is ten times what anything here needs.
const limit = 20 * time.Second
