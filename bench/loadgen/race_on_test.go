//go:build race

package loadgen

const raced = true
