//go:build !race

package keying

const raceSlack = 1
