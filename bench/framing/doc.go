// Package framing checks what a proxy makes of HTTP/1 bytes that two hops could
// read differently: request smuggling, field injection, odd targets.
//
// It owns a corpus of raw client requests with the verdict each must get
// (testdata/corpus), a strict request reader that is both the reference for
// clients and the parser of the backend, a backend that records every byte it
// is sent, and a driver that plays a case against an address. The tests run the
// corpus and a fuzzer against Penstock in this process; the command in
// differential runs it against nginx, HAProxy and net/http as well.
//
// The strict reader refuses whatever some server is known to read in another
// way. So if everything that reaches the backend passes it, no backend behind
// the proxy can see more requests than the proxy meant to send.
//
// Goroutines: one per backend listener and connection, ended by Backend.Close,
// and those of the gateway that StartPenstock builds, ended by its Stop.
package framing
