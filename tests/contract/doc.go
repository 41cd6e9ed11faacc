// Package contract keeps docs/contract.md: every promise of the behaviour contract in our own words, beside the tests that prove it.
//
// What holds: each row of rows.txt has a test with a mark, or says what took its place and names the test of that; each mark names a row;
// docs/contract.md is what Page gives. What is trusted: that a marked test proves its row: people judge that. A mark is a comment of its
// own line directly above a test ("// contract: S1, A10", "// case: FC01"), in Go files and in the page's JavaScript tests.
//
// To write docs/contract.md anew: go test ./tests/contract -update
package contract
