// Package redistest gives tests real Redis servers and a proxy that breaks things.
//
// What holds. Each server has its own free port and directory and dies with the test, also when the test is killed. Where the program
// redis-server is missing a test is skipped with the reason, unless HOLDFAST_TEST_ALL=1: then it fails.
//
// What is trusted. That nobody else takes a port between its choice and the server's start; a start that fails is tried again.
package redistest
