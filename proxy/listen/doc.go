// Package listen is the accepting side of the gateway: it bounds connections,
// survives a lack of descriptors, terminates TLS with certificates that can be
// replaced, and hands its sockets to the next process without refusing anybody.
//
// The layers stack from the socket outwards: Set gives named sockets, Listener
// limits and tunes what they accept, TLSListener encrypts. The server on top
// sees net.ErrClosed when the listener is stopped and no other error, because
// fasthttp gives up a listener on any error that is not a timeout.
//
// It never reads a request, and never closes an accepted connection that it has
// handed to the server.
//
// Goroutines: at most rejectors short-lived ones per Listener, which tell
// clients over the limit why they are refused and for which Close waits; and
// those that call TLSListener.Run and Set.ServeHandover.
package listen
