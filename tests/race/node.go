package race

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
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

// Node is a whole node in this process, sockets included. Stop it.
type Node struct {
	*turn.Engine
	Name string
	// Log and Hub are the node's own; Leases are over the node's connections too.
	Log    *redislog.Store
	Hub    *stream.Hub
	Leases *redislease.Store
	Keeper *ownership.Keeper

	conns  *conns
	server *httptest.Server
	once   sync.Once
	stop   func(dead bool)
}

// NodeOptions describe a node. Zero durations mean 10 s for TTL and the engine's own for Idle.
type NodeOptions struct {
	Name, Proc string
	TTL, Idle  time.Duration
	Timeout    time.Duration // of one call to the store; 0 means 20 s
	Source     turn.Source
	Logger     *slog.Logger // nil discards
	NoWatch    bool         // nobody looks for dead owners
}

// NewNode starts a node on the store at opts.
func NewNode(opts *redis.Options, o NodeOptions) *Node {
	if o.TTL == 0 {
		o.TTL = 10 * time.Second
	}
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	own := *opts
	n := &Node{Name: o.Name, conns: newConns(opts)}
	own.Dialer = n.conns.Dial
	n.Log = redislog.New(redislog.Single(&own), redislog.Options{PingEvery: -1, Timeout: o.Timeout})
	client := redis.NewClient(&own)
	n.Leases = redislease.New(client, redislease.Options{})
	n.Keeper = ownership.NewKeeper(n.Leases, ownership.Config{Node: o.Name, Proc: o.Proc, TTL: o.TTL})
	watcher := ownership.NewWatcher(n.Leases, ownership.WatcherConfig{
		Node: o.Name, TTL: o.TTL, BeatEvery: o.TTL / 8, StandStill: o.TTL / 3, Holds: n.Keeper.Holds,
		OnDead: func(ctx context.Context, k string, observed ownership.Epoch) error {
			key, err := regen.ParseKey(k)
			if err != nil {
				return err
			}
			return n.Recover(ctx, key, observed)
		},
	})
	n.Hub = stream.NewHub(n.Log, n.Log, stream.HubConfig{Poll: o.TTL})
	n.Engine = turn.New(n.Log, n.Keeper, watcher, n.Hub, o.Source, turn.Config{Node: o.Name, IdleRelease: o.Idle, Logger: o.Logger.With("node", o.Name)})
	front := gateway.New(gateway.Config{Engine: n.Engine, Hub: gateway.FromHub(n.Hub), Reader: n.Log, Node: o.Name, Logger: o.Logger})
	n.server = httptest.NewServer(front.Handler())
	unfollow := n.Log.FollowNode(o.Name, n.Stopped)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = n.Log.Run(ctx) })
	wg.Go(func() { _ = n.Keeper.Run(ctx) })
	if !o.NoWatch {
		wg.Go(func() { _ = watcher.Run(ctx) })
	}
	n.stop = func(dead bool) {
		if dead {
			n.conns.reach(false) // from here on nothing of it reaches the store
		}
		n.conns.hold(false)
		now, end := context.WithCancel(context.Background())
		end()
		_ = front.Shutdown(now)
		n.server.CloseClientConnections()
		n.server.Close()
		n.Hub.Close()
		unfollow()
		n.Close()
		cancel()
		wg.Wait()
		_ = n.Log.Close()
		_ = client.Close()
	}
	return n
}

// WS is the address of the node's sockets.
func (n *Node) WS() string { return "ws" + strings.TrimPrefix(n.server.URL, "http") + "/v1/ws" }

// Kill ends the node as kill -9 does: nothing is settled or released. Its store does not hear of it.
func (n *Node) Kill() { n.once.Do(func() { n.stop(true) }) }

// Stop ends the node; actors end as they are. Nothing happens to a node that has ended.
func (n *Node) Stop() { n.once.Do(func() { n.stop(false) }) }

// Reach says whether the node reaches the store; each change ends its connections.
func (n *Node) Reach(yes bool) { n.conns.reach(yes) }

// Hold makes everything between node and store stand still, or go on.
func (n *Node) Hold(yes bool) { n.conns.hold(yes) }

// String is the node's name and address.
func (n *Node) String() string { return fmt.Sprintf("%s (%s)", n.Name, n.server.URL) }
