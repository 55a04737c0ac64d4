//go:build !race

package prefixindex

// raceDetector says whether the tests run under it.
const raceDetector = false

// patience divides the number of rounds that tests go.
const patience = 1
