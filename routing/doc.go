// Package routing owns the choice of a replica. It is pure: no I/O, no clock,
// no goroutine; time and randomness come in through Input, so that the same
// code runs live, in virtual time and under fuzz.
package routing
