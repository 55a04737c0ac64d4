package listen

import (
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// rejectors is how many refused clients are waited for at once; further
	// ones get the short form.
	rejectors = 32
	// lingerTime and lingerBytes bound the wait for a refused client to read
	// its answer and close. Closing with its request still unread would send a
	// reset, which may overtake the answer.
	lingerTime  = 250 * time.Millisecond
	lingerBytes = 64 << 10
	// briefTime bounds the same wait in the accept loop.
	briefTime = time.Millisecond
)

// refuser tells clients that there is no place for them.
type refuser struct {
	answers [Reasons][]byte // all nil under TLS
	places  chan struct{}
	running sync.WaitGroup
}

func newRefuser(o Options) *refuser {
	r := &refuser{places: make(chan struct{}, rejectors)}
	if o.TLS {
		return r
	}
	for reason := range Reasons {
		r.answers[reason] = answer(reason, o.RetryAfter)
	}
	return r
}

// answer builds the whole response, an error in the shape of the OpenAI API.
func answer(reason Reason, retryAfter time.Duration) []byte {
	message := "The gateway has no free connection. Please retry later."
	if reason == ReasonPerIP {
		message = "Too many connections from this address. Please retry later."
	}
	body := fmt.Sprintf(`{"error":{"message":%q,"type":"overloaded_error","param":null,"code":%q}}`, message, reason.String())
	seconds := int64((retryAfter + time.Second - 1) / time.Second)
	return fmt.Appendf(nil, "HTTP/1.1 503 Service Unavailable\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n"+
		"Connection: close\r\nRetry-After: %d\r\n\r\n%s", len(body), seconds, body)
}

// politely refuses c without holding up the caller.
func (r *refuser) politely(c net.Conn, reason Reason) {
	select {
	case r.places <- struct{}{}:
	default:
		// A flood must not slow the accept loop down for the others, so here
		// the answer may be lost.
		r.say(c, reason, 0)
		return
	}
	r.running.Go(func() {
		defer func() { <-r.places }()
		r.say(c, reason, lingerTime)
	})
}

// briefly refuses c within about briefTime.
func (r *refuser) briefly(c net.Conn, reason Reason) { r.say(c, reason, briefTime) }

// say answers and closes. The write cannot block for long: the send buffer of a
// new connection is empty.
func (r *refuser) say(c net.Conn, reason Reason, linger time.Duration) {
	defer func() { _ = c.Close() }()
	text := r.answers[reason]
	if text == nil {
		return
	}
	_ = c.SetDeadline(time.Now().Add(max(linger, briefTime)))
	if _, err := c.Write(text); err != nil || linger == 0 {
		return
	}
	if half, ok := c.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, c, lingerBytes)
	}
}

func (r *refuser) wait() { r.running.Wait() }
