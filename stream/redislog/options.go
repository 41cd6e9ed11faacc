package redislog

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Options set up a Store. The zero value is good for Redis shared by several nodes.
type Options struct {
	// Solo says that this process is the only one: nobody needs wakes of what is written here, so none are published.
	Solo bool
	// Timeout bounds one call; 1 s.
	Timeout time.Duration
	// PingEvery is how long the subscription's connection may be silent before it is asked; silent for as long again, it is
	// replaced. 5 s; below zero never, as fits an embedded store.
	PingEvery time.Duration
	// QueueBytes bounds the entries that wait for the writer; what exceeds it is answered AppendFailed. 64 MiB.
	QueueBytes int
	// CopyBytes bounds the copies in one wake; a larger one goes without. 64 KiB.
	CopyBytes int
	Events    Events
}

// Events are told what a Store does. Each may be nil, is called from the Store's goroutines and must not block.
type Events struct {
	// Flushed is told of each write of the append writer: its entries, the time it took, and the first error.
	Flushed func(entries int, took time.Duration, err error)
	// Connected is told that the append writer has a new connection, and how many it has had with it.
	Connected func(count uint64)
	// Disconnected is told why the subscription's connection ended; it is made again.
	Disconnected func(err error)
}

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = time.Second
	}
	if o.PingEvery == 0 {
		o.PingEvery = 5 * time.Second
	}
	if o.QueueBytes <= 0 {
		o.QueueBytes = 64 << 20
	}
	if o.CopyBytes <= 0 {
		o.CopyBytes = 64 << 10
	}
	return o
}

// Connector makes a client whose connections have been tuned by the given func.
type Connector func(tune func(*redis.Options)) redis.UniversalClient

// Single connects to one server. It does not change o.
func Single(o *redis.Options) Connector {
	return func(tune func(*redis.Options)) redis.UniversalClient {
		c := *o
		tune(&c)
		return redis.NewClient(&c)
	}
}

// Cluster connects to a cluster's masters. It does not change o.
func Cluster(o *redis.ClusterOptions) Connector {
	return func(tune func(*redis.Options)) redis.UniversalClient {
		c := *o
		c.MaxRetries = -1
		c.ReadOnly, c.RouteByLatency, c.RouteRandomly = false, false, false // decisions are never read from a replica
		c.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		c.NewClient = func(node *redis.Options) *redis.Client {
			tune(node)
			return redis.NewClient(node)
		}
		return redis.NewClusterClient(&c)
	}
}

// Sentinel connects to the master that sentinels name. It does not change o.
func Sentinel(o *redis.FailoverOptions) Connector {
	return func(tune func(*redis.Options)) redis.UniversalClient {
		c := *o
		t := redis.Options{
			OnConnect: c.OnConnect, PoolSize: c.PoolSize, DialTimeout: c.DialTimeout, DialerRetries: c.DialerRetries,
			ReadTimeout: c.ReadTimeout, WriteTimeout: c.WriteTimeout, Dialer: c.Dialer,
			ReadBufferSize: c.ReadBufferSize, WriteBufferSize: c.WriteBufferSize,
		}
		tune(&t)
		c.MaxRetries, c.ContextTimeoutEnabled, c.DialerRetries = t.MaxRetries, t.ContextTimeoutEnabled, t.DialerRetries
		c.PoolSize, c.PipelinePoolSize, c.OnConnect = t.PoolSize, t.PipelinePoolSize, t.OnConnect
		c.ReadTimeout, c.WriteTimeout, c.DialTimeout = t.ReadTimeout, t.WriteTimeout, t.DialTimeout
		c.ReadBufferSize, c.WriteBufferSize = t.ReadBufferSize, t.WriteBufferSize
		c.ReplicaOnly, c.RouteByLatency, c.RouteRandomly = false, false, false
		return redis.NewFailoverClient(&c)
	}
}

// tune makes a client repeat nothing by itself: a call that was sent again after a lost reply would run twice.
func (o Options) tune(c *redis.Options) {
	c.MaxRetries = -1
	c.ContextTimeoutEnabled = true
	c.DialerRetries = 1
	c.ReadTimeout, c.WriteTimeout = o.Timeout, o.Timeout
	if c.DialTimeout == 0 {
		c.DialTimeout = o.Timeout
	}
	c.PipelinePoolSize = -1 // pipelines use the same connections as everything else
	c.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	dial := c.Dialer
	if dial == nil {
		dial = redis.NewDialer(c)
	}
	c.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, &dialError{err}
		}
		return conn, nil
	}
}

// tuneWriter leaves one connection (per node) and has it counted.
func (o Options) tuneWriter(c *redis.Options, connected func()) {
	o.tune(c)
	c.PoolSize, c.MinIdleConns, c.MaxIdleConns, c.MaxActiveConns = 1, 0, 0, 0
	c.WriteBufferSize, c.ReadBufferSize = 64<<10, 64<<10
	before := c.OnConnect
	c.OnConnect = func(ctx context.Context, conn *redis.Conn) error {
		connected()
		if before != nil {
			return before(ctx, conn)
		}
		return nil
	}
}
