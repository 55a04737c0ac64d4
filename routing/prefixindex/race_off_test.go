//go:build !race

package prefixindex

const raceSlack = 1
