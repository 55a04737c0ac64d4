// Package engine owns the small requests that the gateway makes to a replica on
// its own behalf, for health, load and model names, and the following of a
// pool's membership with one goroutine per replica. It never carries a client's
// request.
//
// Follow starts goroutines and returns when all of them have ended.
package engine
