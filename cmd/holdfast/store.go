package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"holdfast/stream/redislog"
	"holdfast/stream/redislog/embedded"
)

// backend is the Redis behind a node: embedded, a child process, or somebody's own.
type backend struct {
	connect redislog.Connector
	// about says what it is, for people.
	about string
	// solo says that no other node can be on it.
	solo bool
	// pingEvery is how often a silent subscription is asked for a sign of life; 0 is the store's default, below zero never.
	pingEvery time.Duration
	// chunk is how many leases one script may renew.
	chunk int
	close func()
}

// openBackend finds the store that the settings name, and makes sure that it answers.
func openBackend(ctx context.Context, c config) (*backend, error) {
	switch {
	case c.redis != "":
		b, err := parseRedis(c.redis)
		if err != nil {
			return nil, &hintError{hint: fmt.Sprintf("--redis: %v", err), err: err}
		}
		return b, b.check(ctx, "--redis "+redacted(c.redis))
	case c.data != "":
		return openData(ctx, c.data)
	}
	return openEmbedded(true), nil
}

func openEmbedded(solo bool) *backend {
	srv := embedded.New(embedded.Config{})
	return &backend{
		connect: redislog.Single(srv.Options()), about: "embedded (nothing is kept when it ends)", solo: solo, chunk: 64,
		pingEvery: -1, close: srv.Close,
	}
}

// parseRedis reads the forms of --redis.
func parseRedis(s string) (*backend, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, errors.New("not an address; use redis://host:6379")
	}
	password, _ := u.User.Password()
	addrs := strings.Split(u.Host, ",")
	switch u.Scheme {
	case "redis", "rediss", "unix":
		o, err := redis.ParseURL(s)
		if err != nil {
			return nil, fmt.Errorf("not an address: %w", err)
		}
		return &backend{connect: redislog.Single(o), about: "redis at " + o.Addr, chunk: 64, close: func() {}}, nil
	case "redis+sentinel":
		master := strings.Trim(u.Path, "/")
		if master == "" {
			return nil, errors.New("name the master: redis+sentinel://host:26379/mymaster")
		}
		o := &redis.FailoverOptions{MasterName: master, SentinelAddrs: addrs, Username: u.User.Username(), Password: password}
		return &backend{connect: redislog.Sentinel(o), about: "redis master " + master + " by sentinels", chunk: 64, close: func() {}}, nil
	case "redis+cluster":
		o := &redis.ClusterOptions{Addrs: addrs, Username: u.User.Username(), Password: password}
		return &backend{connect: redislog.Cluster(o), about: "redis cluster", chunk: 1, close: func() {}}, nil
	}
	return nil, fmt.Errorf("scheme %q: use redis://, rediss://, redis+sentinel:// or redis+cluster://", u.Scheme)
}

func redacted(s string) string {
	if u, err := url.Parse(s); err == nil {
		return u.Redacted()
	}
	return "(address)"
}

// check asks the store for an answer, and whether it may drop keys by itself.
func (b *backend) check(ctx context.Context, what string) error {
	client := b.connect(tuneClient)
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := client.Ping(ctx).Err(); err != nil {
		return &hintError{hint: fmt.Sprintf("%s does not answer (%v): is it running, and is the address right?", what, err), err: err}
	}
	if info, err := client.InfoMap(ctx, "memory").Result(); err == nil {
		if p := info["Memory"]["maxmemory_policy"]; p != "" && p != "noeviction" {
			return &hintError{hint: fmt.Sprintf("%s may drop keys by itself (maxmemory-policy %s): set it to noeviction", what, p)}
		}
	}
	return nil
}

// clientLog takes what the Redis client says by itself: a store that is away is told once, by us.
type clientLog struct{ logger *slog.Logger }

func (l clientLog) Printf(_ context.Context, format string, v ...any) {
	l.logger.Debug("redis client", "says", fmt.Sprintf(format, v...))
}

func tuneClient(o *redis.Options) {
	o.MaxRetries = -1
	o.ContextTimeoutEnabled = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// openData runs a redis-server of our own, which keeps its data in dir.
func openData(ctx context.Context, dir string) (*backend, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, &hintError{hint: "--data needs the program redis-server: install the package redis-server (Debian, Ubuntu) or redis (Fedora, Homebrew)", err: err}
	}
	if dir, err = filepath.Abs(dir); err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, &hintError{hint: fmt.Sprintf("--data: %v", err), err: err}
	}
	// A socket's path may be about 100 bytes long; a directory's may be longer.
	run, err := os.MkdirTemp("", "holdfast")
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(run, "redis.sock")
	cmd := exec.Command(program, "--port", "0", "--unixsocket", socket, "--unixsocketperm", "700", "--dir", dir,
		"--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--maxmemory-policy", "noeviction", "--daemonize", "no",
		"--logfile", filepath.Join(dir, "redis.log"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is for us; we end it when we are done
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start redis-server: %w", err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	b := &backend{
		connect: redislog.Single(&redis.Options{Network: "unix", Addr: socket}), about: "kept in " + dir, solo: true, chunk: 64,
		close: func() {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			<-ended
			_ = os.RemoveAll(run)
		},
	}
	if err := waitSocket(ctx, socket, ended); err != nil {
		b.close()
		return nil, &hintError{hint: fmt.Sprintf("--data: redis-server did not start, see %s: %v", filepath.Join(dir, "redis.log"), err), err: err}
	}
	if err := b.check(ctx, "--data"); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func waitSocket(ctx context.Context, path string, ended <-chan struct{}) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		if c, err := net.Dial("unix", path); err == nil {
			return c.Close()
		}
		select {
		case <-ended:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return errors.New("no answer in 10 s")
}
