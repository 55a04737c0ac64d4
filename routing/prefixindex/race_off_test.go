//go:build !race

package prefixindex

// raceDetector says whether the tests run under it.
const raceDetector = false
