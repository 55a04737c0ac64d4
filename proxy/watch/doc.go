// Package watch tells a request handler that its client has gone away.
//
// fasthttp does not do this: its RequestCtx.Done closes at shutdown only, so a
// gateway without a watch keeps an engine generating for nobody until the next
// write fails. On Linux one edge-triggered epoll holds every accepted
// connection. It asks for EPOLLRDHUP, EPOLLHUP and EPOLLERR but not EPOLLIN, so
// data never wakes it and a request costs two atomic operations: Arm and
// Disarm. Elsewhere a background read of one byte stands in; watch_other.go
// lists what that cannot see.
//
// The package owns the epoll descriptor and the state of each wrapped
// connection. It never reads from, writes to or closes a connection by itself
// (but for the background read), and never decides what a lost client means:
// that is the Canceler's.
//
// Goroutines: the one that calls Run, which also makes every ClientGone call
// that Arm does not make at once. The portable form adds one for each armed
// connection; Disarm waits for it.
package watch
