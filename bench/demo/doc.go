// Package demo is the command "penstock demo": a simulated fleet, the gateway
// in front of it, and live traffic from the built-in multi-turn trace, all in
// one process on loopback sockets. It needs no network, engine or Redis.
//
// It owns the order of things: fleet up, gateway up, load, gateway down, fleet
// down; for each policy anew, so that no cache carries over. Every goroutine it
// starts has ended when Main returns.
package demo
