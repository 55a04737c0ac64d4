//go:build !race

package loadgen

const raced = false
