package redislease

import (
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/ownership"
)

//go:embed acquire.lua
var acquireText string

//go:embed renew.lua
var renewText string

//go:embed release.lua
var releaseText string

//go:embed look.lua
var lookText string

//go:embed beat.lua
var beatText string

//go:embed index.lua
var indexText string

var (
	acquireScript = redis.NewScript(acquireText)
	renewScript   = redis.NewScript(renewText)
	releaseScript = redis.NewScript(releaseText)
	lookScript    = redis.NewScript(lookText)
	beatScript    = redis.NewScript(beatText)
	indexScript   = redis.NewScript(indexText)
)

// ghostLife is how long the lease of a session that never came into being is kept, for its epoch.
const ghostLife = 7 * 24 * time.Hour

// Options are the settings of a Store. The zero value fits every kind of Redis.
type Options struct {
	// Chunk is how many leases one script renews. More than 1 is many times cheaper in the embedded store and half as cheap again
	// on a single server (64 is a good number), and impossible in a Cluster; 0 means 1.
	Chunk int
}

// Store keeps leases in Redis. Make one with New. Its methods may be called from many goroutines.
type Store struct {
	client redis.UniversalClient
	chunk  int
}

var (
	_ ownership.Backend = (*Store)(nil)
	_ ownership.Peers   = (*Store)(nil)
)

// New returns a Store over client, which the caller closes. The client must not retry (MaxRetries -1) and should honour the
// context's deadline (ContextTimeoutEnabled).
func New(client redis.UniversalClient, o Options) *Store {
	return &Store{client: client, chunk: max(o.Chunk, 1)}
}

// sessionKey is the name of one of a session's keys; all share the tag.
func sessionKey(key, name string) string { return "hf1:{" + key + "}:" + name }

const nodesKey = "hf1:{nodes}"

func indexKey(node string) string { return "hf1:{node:" + node + "}" }

// answer reads a script's result: a status word and strings.
type answer struct {
	what   string
	fields []string
	err    error
}

func readAnswer(what string, cmd *redis.Cmd) *answer {
	fields, err := cmd.StringSlice()
	a := &answer{what: what, fields: fields}
	switch {
	case err != nil:
		a.err = fmt.Errorf("%s: %w", what, classify(err))
	case len(fields) == 0:
		a.malformed("empty answer")
	}
	return a
}

// status takes the status word.
func (a *answer) status() string { return a.text() }

// text takes the next field; "" when there is none, which is an error.
func (a *answer) text() string {
	if a.err != nil {
		return ""
	}
	if len(a.fields) == 0 {
		a.malformed("answer too short")
		return ""
	}
	s := a.fields[0]
	a.fields = a.fields[1:]
	return s
}

// number takes the next field as a whole number, not negative.
func (a *answer) number() uint64 {
	s := a.text()
	if a.err != nil {
		return 0
	}
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		a.malformed("not a number: " + strconv.Quote(s))
	}
	return n
}

func (a *answer) malformed(why string) {
	if a.err == nil {
		a.err = fmt.Errorf("%s: malformed answer of script: %s", a.what, why)
	}
}
