// Command mutate makes deliberate faults in the places that matter, one at a time, and looks whether a test notices.
//
//	go run ./tests/mutate                 every fault
//	go run ./tests/mutate -list           their names, and which packages are asked
//	go run ./tests/mutate -only NAME      one; NAME is a name or a pattern such as 'write-*', several separated by commas
//	go run ./tests/mutate -jobs 2         two at a time, each in a copy of its own
//	go run ./tests/mutate -check          only whether every fault still fits the source
//
// What holds. The module (what git tracks, and what is new and not ignored) is copied once into a temporary folder for each job, and
// the faults are made there: the checkout is never written to. A fault is an exact replacement; a text that does not stand in its file
// exactly once is an error of this list and fails loudly, before anything runs. Before the first fault that asks a package, the
// package's tests have to pass without a fault. The packages beside a fault are asked in order, until one notices. The answers:
//
//	caught     a test failed, or hung until its time-out (shown as such)
//	survived   every test passed: a test is missing, unless the fault gives a reason why none can tell
//	broken     the faulty source does not compile, or no test ran: the fault proves nothing and has to be mended
//
// The exit code is 0 only if every fault was caught or has a reason.
//
// What can go wrong. A flaky test "catches" whatever it is asked about, and a machine under load makes time-outs; the name of the test
// that failed is shown, so read it. This is not part of tests/run: it takes tens of minutes.
package main
