// Package admin is the operator's side of the gateway: metrics, probes, the
// management API, profiles, and the worker API of both router families.
//
// It owns the HTTP of the admin listener (net/http; nothing here is hot) and
// the rule for which addresses may be registered as workers. It opens no
// listener, decides nothing about routing, and changes pools only through the
// interfaces that it declares. Its only goroutines are the calls of a cache
// flush, which end before the request that made them.
//
// Every route is an exact path in a table; nothing is served from a file
// system. All but the three probes ask for the bearer token when one is set,
// and requests that change something are refused when a browser made them for
// another site: the listener is on loopback, where any page could reach it.
package admin
