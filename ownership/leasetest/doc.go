// Package leasetest is the suite that every lease store must pass. It makes states by writing the layout's keys directly, so it is
// for stores that keep their leases in Redis' layout, whatever runs it.
//
// Run uses keys of its own per case and no clock: deadlines are moved by hand. It trusts the client to reach the same server as the
// store.
package leasetest
