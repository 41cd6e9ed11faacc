// Package redistest gives tests a store: the embedded one, real Redis servers, both in turn, and a proxy that breaks what lies between
// a client and its server.
//
// What holds. Each server has its own free port, keeps nothing unless it is told to, and dies with the test, also when the test is
// killed. A helper that returns has a server that answers. Where the program redis-server is missing a test is skipped with the
// reason, unless HOLDFAST_TEST_ALL=1: then it fails. HOLDFAST_TEST_QUICK=1 skips it always.
//
// What is trusted. The redis-server in the PATH, and a kernel that ends a child when its parent dies (Linux).
//
// What can go wrong. Real connections do not work inside a synctest bubble: there only Mini and Embedded do. The servers that Each and
// Shared hand out are emptied and used again by later tests: a test that changes a server's settings takes its own from Server.
package redistest
