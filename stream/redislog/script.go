package redislog

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed read.lua
	readSource string
	//go:embed page.lua
	pageSource string
	//go:embed write.lua
	writeSource string
	//go:embed check.lua
	checkSource string
	//go:embed cancel.lua
	cancelSource string

	readScript   = redis.NewScript(readSource)
	pageScript   = redis.NewScript(pageSource)
	writeScript  = redis.NewScript(writeSource)
	checkScript  = redis.NewScript(checkSource)
	cancelScript = redis.NewScript(cancelSource)
)

// errAnswer says that a script answered what it never answers.
var errAnswer = errors.New("store gave an answer out of form")

// answer is what a script returned: a status word and values.
type answer []any

// run calls a script by its hash, and by its text where the server does not have it. One call is at most one application.
func run(ctx context.Context, c redis.Scripter, s *redis.Script, keys []string, args []any, least int) (answer, error) {
	got, err := s.Run(ctx, c, keys, args...).Slice()
	if err != nil {
		return nil, err
	}
	if len(got) < least {
		return nil, fmt.Errorf("%w: %d values", errAnswer, len(got))
	}
	return got, nil
}

func (a answer) text(i int) string {
	if i >= len(a) {
		return ""
	}
	s, _ := a[i].(string)
	return s
}

func (a answer) number(i int) int {
	n, _ := a[i].(int64)
	return int(n)
}

func (a answer) list(i int) []any {
	l, _ := a[i].([]any)
	return l
}

// texts gives a list of strings; anything else in it becomes "".
func (a answer) texts(i int) []string {
	l := a.list(i)
	out := make([]string, len(l))
	for j := range l {
		out[j], _ = l[j].(string)
	}
	return out
}

// fields gives a flat list of names and values as a map.
func (a answer) fields(i int) map[string]string {
	l := a.texts(i)
	m := make(map[string]string, len(l)/2)
	for j := 0; j+1 < len(l); j += 2 {
		m[l[j]] = l[j+1]
	}
	return m
}
