package ownership

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Config sets up a Keeper. Zero fields mean the defaults.
type Config struct {
	// Node is this node's id and Proc the random id of this process. Both are required.
	Node, Proc string
	// TTL is how long a lease lasts without a renewal; 10 s.
	TTL time.Duration
	// Margin is taken off the TTL before a lease is trusted; 1 s, but never more than a fifth of the TTL by default.
	Margin time.Duration
	// RenewEvery is the time between renewals, each jittered by a fifth; TTL/3.
	RenewEvery time.Duration
	// Doubt is how long a lease may be doubtful before it counts as lost; 60 s.
	Doubt time.Duration
	// CallTimeout bounds one call to the store; 1 s.
	CallTimeout time.Duration
	Events      KeeperEvents
}

// KeeperEvents are told what a Keeper does. Each may be nil, is called from the Keeper's goroutines and must not block.
type KeeperEvents struct {
	// Renewed is told of each renewal call: how many leases, how long it took, and its error.
	Renewed func(leases int, took time.Duration, err error)
	// Doubt is told when a lease becomes doubtful (true) or sure again (false).
	Doubt func(key string, doubtful bool)
	// Lost is told of each lost lease.
	Lost func(*LostError)
	// IndexFailed is told when the index could not be written again; it is tried again with a later renewal.
	IndexFailed func(error)
}

func (c Config) withDefaults() Config {
	setDefault(&c.TTL, 10*time.Second)
	setDefault(&c.Margin, min(time.Second, c.TTL/5))
	setDefault(&c.RenewEvery, c.TTL/3)
	setDefault(&c.Doubt, 60*time.Second)
	setDefault(&c.CallTimeout, time.Second)
	return c
}

// Validate reports everything that is wrong, after the defaults.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	if c.Node == "" || c.Proc == "" {
		errs = append(errs, errors.New("ownership: node and process id are required"))
	}
	if c.TTL < 10*time.Millisecond || c.Margin < 0 || c.RenewEvery <= 0 || c.Doubt < 0 || c.CallTimeout <= 0 {
		errs = append(errs, errors.New("ownership: durations must be positive, the lease at least 10ms"))
	}
	if c.RenewEvery+c.RenewEvery/5 >= c.TTL-c.Margin {
		errs = append(errs, fmt.Errorf("ownership: renewing every %v cannot keep a lease of %v with a margin of %v", c.RenewEvery, c.TTL, c.Margin))
	}
	return errors.Join(errs...)
}

// WatcherConfig sets up a Watcher. Zero fields mean the defaults.
type WatcherConfig struct {
	// Node is this node's id. Required.
	Node string
	// TTL is the leases' and the time between two walks; 10 s.
	TTL time.Duration
	// RenewEvery is the owners' renewal period, which they get to renew after an outage; TTL/3.
	RenewEvery time.Duration
	// BeatEvery is the time between heartbeats; 1 s.
	BeatEvery time.Duration
	// StandStill is how long a heartbeat or a deadline must stand still before its owner counts as gone; 3 s.
	StandStill time.Duration
	// Silence is how long the store may be without an answer, or its clock off the monotonic one, before nothing busy is taken
	// for RenewEvery + CallTimeout; 2 s.
	Silence time.Duration
	// CallTimeout bounds one call to the store; 1 s.
	CallTimeout time.Duration
	// Workers bounds the looks and the callbacks that run at a time; 16.
	Workers int
	// Holds says whether this process holds, acquires or releases key; Keeper.Holds. Required.
	Holds func(key string) bool
	// OnDead is called for a session whose owner is gone, at its lease's deadline, and OnGhost for one that this node's index
	// names and this process does not hold. The callee acquires with the observed epoch, ends the run if there is one (the
	// session may be idle), and releases or keeps. nil: done, the index entry goes if the lease moved. An error: tried again on a later walk. They
	// are called in goroutines that Run waits for; ctx is Run's. OnDead is required; a nil OnGhost means OnDead.
	OnDead, OnGhost func(ctx context.Context, key string, observed Epoch) error
	Events          WatcherEvents
}

// WatcherEvents are told what a Watcher sees. Each may be nil, is called from its goroutines and must not block.
type WatcherEvents struct {
	// Beat is told of each heartbeat: how long it took, and its error.
	Beat func(took time.Duration, err error)
	// Dead is told when a node's heartbeat begins to count as standing still, Back when it moves again.
	Dead, Back func(node string)
	// Damped is told why no busy lease is taken for a while.
	Damped func(reason string)
	// Failed is told of a walk, a look or a callback that failed.
	Failed func(key string, err error)
}

func (c WatcherConfig) withDefaults() WatcherConfig {
	setDefault(&c.TTL, 10*time.Second)
	setDefault(&c.RenewEvery, c.TTL/3)
	setDefault(&c.BeatEvery, time.Second)
	setDefault(&c.StandStill, 3*time.Second)
	setDefault(&c.Silence, 2*time.Second)
	setDefault(&c.CallTimeout, time.Second)
	setDefault(&c.Workers, 16)
	if c.OnGhost == nil {
		c.OnGhost = c.OnDead
	}
	return c
}

// Validate reports everything that is wrong, after the defaults.
func (c WatcherConfig) Validate() error {
	c = c.withDefaults()
	var errs []error
	if c.Node == "" || c.Holds == nil || c.OnDead == nil {
		errs = append(errs, errors.New("ownership: the watcher needs a node id, Holds and OnDead"))
	}
	if min(c.TTL, c.RenewEvery, c.BeatEvery, c.StandStill, c.Silence, c.CallTimeout) <= 0 || c.Workers < 1 {
		errs = append(errs, errors.New("ownership: the watcher's durations and workers must be positive"))
	}
	if c.StandStill < 2*c.BeatEvery {
		errs = append(errs, fmt.Errorf("ownership: a heartbeat every %v cannot be judged after %v", c.BeatEvery, c.StandStill))
	}
	return errors.Join(errs...)
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// jitter spreads d by a fifth to both sides, so that leases acquired together do not stay together.
func jitter(d time.Duration) time.Duration {
	return d*4/5 + time.Duration(rand.Int64N(int64(d)*2/5+1))
}
