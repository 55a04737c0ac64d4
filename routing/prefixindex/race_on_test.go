//go:build race

package prefixindex

// raceSlack is what the race detector makes of an allocation count: it has
// sync.Pool drop a quarter of what it is given.
const raceSlack = 2
