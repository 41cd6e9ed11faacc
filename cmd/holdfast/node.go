package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/gateway"
	"holdfast/ownership"
	"holdfast/ownership/redislease"
	"holdfast/regen"
	"holdfast/stream"
	"holdfast/stream/redislog"
	"holdfast/stream/turn"
)

// node is one holdfast node: every part of it, in the order in which they are built. It is stopped in the reverse order.
type node struct {
	id      string
	cfg     config
	logger  *slog.Logger
	log     *redislog.Store
	client  redis.UniversalClient // for leases alone: renewals wait for nothing else
	keeper  *ownership.Keeper
	watcher *ownership.Watcher
	hub     *stream.Hub
	engine  *turn.Engine
	gateway *gateway.Server
	answers atomic.Int64 // when the store answered last, nanoseconds since 1970
}

// silence is how long the store may be out of reach before readers are told.
const silence = 2 * time.Second

func newNode(c config, b *backend, src turn.Source, pages http.Handler, logger *slog.Logger) *node {
	n := &node{id: c.node, cfg: c, logger: logger}
	if n.id == "" {
		n.id = nodeName()
	}
	n.answers.Store(time.Now().UnixNano())
	proc := randomHex(8)
	n.log = redislog.New(b.connect, redislog.Options{Solo: b.solo, PingEvery: b.pingEvery})
	n.client = b.connect(tuneClient)
	leases := redislease.New(n.client, redislease.Options{Chunk: b.chunk})
	n.keeper = ownership.NewKeeper(leases, ownership.Config{Node: n.id, Proc: proc, TTL: c.leaseTTL, Doubt: c.doubt, Events: n.keeperEvents()})
	n.watcher = ownership.NewWatcher(leases, ownership.WatcherConfig{
		Node: n.id, TTL: c.leaseTTL, BeatEvery: min(time.Second, c.leaseTTL/8), StandStill: min(3*time.Second, c.leaseTTL/3),
		Holds: n.keeper.Holds, OnDead: n.recover, Events: n.watcherEvents(),
	})
	n.hub = stream.NewHub(n.log, n.log, stream.HubConfig{})
	n.engine = turn.New(n.log, n.keeper, n.watcher, n.hub, src, turn.Config{
		Node: n.id, IdleRelease: c.idleRelease, System: c.system, OnFailure: c.onFailure, Logger: logger, Events: n.engineEvents(),
	})
	n.gateway = gateway.New(gateway.Config{
		Engine: n.engine, Hub: gateway.FromHub(n.hub), Reader: n.log, Logger: logger, Insecure: c.insecure,
		Node: n.id, Version: versionText(), Pages: pages, Ready: n.ready, MaxFrame: c.maxFrame,
	})
	return n
}

// serve runs the node on a listener until ctx ends, then drains it and stops everything.
func (n *node) serve(ctx context.Context, ln net.Listener) error {
	return n.serveUntil(ctx, context.WithoutCancel(ctx), ln)
}

// serveUntil is serve, but when killed ends the node is cut off as it is: nothing is drained, settled or released.
func (n *node) serveUntil(ctx, killed context.Context, ln net.Listener) error {
	parts, stopParts := context.WithCancel(context.WithoutCancel(ctx))
	defer stopParts()
	var wg sync.WaitGroup
	wg.Go(func() { _ = n.log.Run(parts) })
	wg.Go(func() { _ = n.keeper.Run(parts) })
	wg.Go(func() { _ = n.watcher.Run(parts) })
	unfollow := n.log.FollowNode(n.id, n.engine.Stopped)
	srv := &http.Server{
		Handler: n.gateway.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(n.logger.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
		n.drain()
	case <-killed.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if killed.Err() != nil {
		cancel()
		_ = srv.Close()
	}
	_ = n.gateway.Shutdown(end)
	_ = srv.Shutdown(end)
	n.hub.Close()
	unfollow()
	n.engine.Close()
	stopParts()
	wg.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, n.log.Close(), n.client.Close())
}

// drain lets running answers end and sends the readers elsewhere meanwhile.
func (n *node) drain() {
	n.logger.Info("draining", "owned", n.engine.Owned(), "sockets", n.gateway.Sockets())
	ctx, cancel := context.WithTimeout(context.Background(), n.cfg.drainTimeout)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() { _ = n.gateway.Drain(ctx) })
	wg.Go(func() {
		if err := n.engine.Drain(ctx); err != nil {
			n.logger.Warn("answers were cut by the drain", "err", err)
		}
	})
	wg.Wait()
}

func (n *node) recover(ctx context.Context, key string, observed ownership.Epoch) error {
	k, err := regen.ParseKey(key)
	if err != nil {
		return err
	}
	return n.engine.Recover(ctx, k, observed)
}

func (n *node) ready() error {
	if quiet := time.Since(time.Unix(0, n.answers.Load())); quiet > 5*time.Second {
		return errors.New("the store does not answer")
	}
	return nil
}

func (n *node) keeperEvents() ownership.KeeperEvents {
	return ownership.KeeperEvents{
		Lost: func(e *ownership.LostError) { n.logger.Warn("lease lost", "err", e) },
		Doubt: func(key string, doubtful bool) {
			n.logger.Debug("lease in doubt", "session", key, "doubtful", doubtful)
		},
	}
}

func (n *node) watcherEvents() ownership.WatcherEvents {
	return ownership.WatcherEvents{
		Beat: func(_ time.Duration, err error) {
			now := time.Now()
			if err == nil {
				n.answers.Store(now.UnixNano())
				n.gateway.SetDegraded(false)
				return
			}
			if now.Sub(time.Unix(0, n.answers.Load())) > silence {
				n.gateway.SetDegraded(true)
			}
		},
		Dead:   func(node string) { n.logger.Warn("peer is gone", "peer", node) },
		Back:   func(node string) { n.logger.Info("peer is back", "peer", node) },
		Damped: func(reason string) { n.logger.Warn("no busy session is taken for a while", "why", reason) },
		Failed: func(key string, err error) {
			n.logger.Debug("recovery failed, tried again later", "session", key, "err", err)
		},
	}
}

func (n *node) engineEvents() turn.Events {
	return turn.Events{
		Accepted: func(k regen.Key, run string, op regen.Op) {
			n.logger.Debug("accepted", "session", k.Session, "run", run, "op", op)
		},
		Settled: func(k regen.Key, run, outcome string, took time.Duration) {
			n.logger.Debug("settled", "session", k.Session, "run", run, "outcome", outcome, "took", took)
		},
		Recovered: func(k regen.Key, run string) {
			n.logger.Info("recovered a dead owner's run", "session", k.Session, "run", run)
		},
		StoreLost: func(k regen.Key, run string) {
			n.logger.Error("the store lost entries; the answer was stated again", "session", k.Session, "run", run)
		},
	}
}

// nodeName is the host's name, as far as ids allow it, and a random part.
func nodeName() string {
	host, _ := os.Hostname()
	host = strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' {
			return r
		}
		return '-'
	}, host)
	return strings.Trim("n"+host[:min(len(host), 40)], "-") + "-" + randomHex(3)
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
