package main

import (
	"fmt"
	"os"

	"holdfast/stream/turn"
	"holdfast/stream/upstream/demo"
	"holdfast/stream/upstream/openai"
)

// openSource makes the model source that the settings name.
func openSource(c config) (turn.Source, error) {
	if c.upstream == "demo" {
		return demo.New(demo.Config{}), nil
	}
	key := os.Getenv(c.upstreamKey)
	if key == "" && c.upstreamKey != "" && c.upstreamURL == "https://api.openai.com/v1" {
		return nil, &hintError{hint: fmt.Sprintf("--upstream openai needs a key: set %s, or name another variable with --upstream-key-env", c.upstreamKey)}
	}
	src, err := openai.New(openai.Config{URL: c.upstreamURL, Key: openai.NewSecret(key), Model: c.upstreamName})
	if err != nil {
		return nil, &hintError{hint: fmt.Sprintf("--upstream-url %s: %v", c.upstreamURL, err), err: err}
	}
	return src, nil
}
