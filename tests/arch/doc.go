// Package arch holds the rules of the source as tests: who may import whom, with the reason beside each ban; that regen is pure; how
// long files and functions get; that tests wait for signals and not for time; that everything exported is explained.
//
// What holds. Each rule is a function from source to complaints, and has a test that breaks it on purpose. It reads the files as they
// are, so it needs no build and nothing installed.
//
// What can go wrong. A rule that is wrong for a good reason is changed here, with that reason, in the commit that needs it.
package arch
