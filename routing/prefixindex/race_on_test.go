//go:build race

package prefixindex

// raceDetector says whether the tests run under it: it has sync.Pool drop a quarter of
// what it is given, and makes everything ten times slower.
const raceDetector = true

// patience divides the number of rounds that tests go.
const patience = 6
