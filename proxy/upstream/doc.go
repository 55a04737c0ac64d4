// Package upstream is the engine side of the proxy: one HTTP/1.1 exchange with
// one replica, over a pool of kept-alive connections.
//
// It writes a request head and body that the caller built, parses the response
// head strictly, and decodes the body so that io.EOF means a complete message
// and nothing else. It never retries a request whose bytes an engine may have
// acted on, never chooses a replica, and starts no goroutine: an exchange runs
// on its caller's goroutine and is cancelled from any other by Call.Cancel.
//
// Why not fasthttp.HostClient: its Do copies the body twice, knows neither
// phases nor cancellation, hands surplus bytes of one answer to the next
// request and cannot give up a connection to another reader (the relay loop).
// The wire format is RFC 9112.
package upstream
