// Package readme runs what the README tells people to type, as it stands there.
//
// What holds. Every command of a code block is either run here, or named here with the test that runs it; a new one fails the test.
//
// What is trusted. bash and curl.
package readme
