// Package proxy is the data plane: HTTP in from clients, HTTP out to replicas.
//
// A request goes through the steps of the design in order, one file each:
// framing (strict checks), routes, admit (keys and limits), scan and edit of the
// body, attempt (choose, lease, send, retry), answer or stream, settle. Errors
// are told in the shape of the API that was called.
//
// The package decides nothing about where a request goes (routing does) and
// nothing about who is alive (pools does). Its goroutines are those of the HTTP
// server, of the relay for streams, and one janitor started by Serve; Drain and
// Close end them all.
package proxy
