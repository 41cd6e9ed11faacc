// Command tally reads the output of "go test -json" and tells a person what matters of it: what failed, in full; what was skipped, and
// why; and how many tests ran in each package. Its last line counts: "N passed, N failed".
//
// What holds. A test with subtests counts through them, so no result counts twice. A package that does not build, panics, leaks or
// runs into its time limit is a failure, also when none of its tests is to blame. With HOLDFAST_TEST_ALL=1 a skipped test is one too. It
// exits with 1 when anything failed or nothing ran at all, otherwise with 0. With -counts FILE it writes "passed failed skipped" there
// instead of the last line, for a script that adds them up.
package main
