package loadgen

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// worker sends one request after another on its own connection.
type worker struct {
	run   *run
	shard *shard
	conn  *conn // nil: none open
	judge judge
}

func (w *worker) close() {
	if w.conn != nil {
		_ = w.conn.Close()
		w.conn = nil
	}
}

func (w *worker) handle(ctx context.Context, j job) {
	late := w.run.clock.now().Sub(j.due)
	begun, err := w.exchange(ctx, j.request)
	var kind Kind
	if err != nil {
		kind = kindOf(ctx, err, begun)
		if kind != Status4xx && kind != Status5xx { // drain decides for those
			w.close()
		}
	}
	w.record(j.due, late, kind, err)
	select {
	case w.run.free <- j.request:
	default:
	}
	<-w.run.slots
}

// exchange sends request and reads the answer. begun reports whether the head
// of an answer arrived.
func (w *worker) exchange(ctx context.Context, request []byte) (begun bool, err error) {
	w.judge.reset()
	h, err := w.send(ctx, request)
	if err != nil {
		return false, err
	}
	stop := context.AfterFunc(ctx, w.interrupt(w.conn))
	defer stop()
	p := w.conn.payload(h)
	switch {
	case h.status >= 500:
		return true, w.drain(&p, Status5xx, h)
	case h.status >= 300: // a redirect is not followed and is as much a refusal
		return true, w.drain(&p, Status4xx, h)
	case h.sse != w.run.cfg.Synth.Streams:
		err = fail(WrongContent, "the content type is not what was asked for")
	case h.sse:
		err = w.judge.stream(&p, w.run.clock.now)
	default:
		err = w.judge.whole(&p, w.run.clock.now)
	}
	if h.closes {
		w.close()
	} else {
		w.conn.since = time.Now() // of the system: the server's idle timer runs on it
	}
	return true, err
}

// interrupt makes every wait on c end at once. The connection is not used
// again, since the error that follows closes it.
func (w *worker) interrupt(c *conn) func() {
	return func() { _ = c.SetDeadline(time.Unix(1, 0)) }
}

// send writes request and reads the head of the answer. A kept connection that
// turns out dead is replaced once, as any client does: the server may close it
// at the moment that it is used.
func (w *worker) send(ctx context.Context, request []byte) (head, error) {
	if w.conn != nil && time.Since(w.conn.since) > idleLimit {
		w.close()
	}
	for {
		reused := w.conn != nil
		if !reused {
			c, err := w.run.target.dial(ctx, min(dialTimeout, w.run.cfg.Timeout))
			if err != nil {
				return head{}, err
			}
			w.conn = c
		}
		h, err := w.roundTrip(ctx, request)
		if err == nil || !reused || kindOf(ctx, err, false) != Reset {
			return h, err
		}
		w.close()
	}
}

func (w *worker) roundTrip(ctx context.Context, request []byte) (head, error) {
	if err := w.conn.SetDeadline(time.Now().Add(w.run.cfg.Timeout)); err != nil {
		return head{}, err
	}
	stop := context.AfterFunc(ctx, w.interrupt(w.conn))
	defer stop()
	_, werr := w.conn.Write(request)
	// A server may answer (413, 429) and close before it read everything.
	h, err := w.conn.readHead()
	if err != nil && werr != nil {
		return h, errors.Join(werr, err)
	}
	return h, err
}

// excerpt is how much of an error answer is kept as an example.
const excerpt = 200

// drain reads the rest of an error answer so that the connection can be kept.
func (w *worker) drain(p *payload, kind Kind, h head) error {
	text := strconv.Itoa(h.status) + " "
	for {
		b, err := p.next()
		if err != nil {
			break
		}
		if n := len(text); n < excerpt {
			text += string(b[:min(len(b), excerpt-n)])
		}
	}
	if h.closes || !p.ended {
		w.close()
	} else {
		w.conn.since = time.Now()
	}
	return fail(kind, text)
}

// record books the request. Latency counts from due, the intended send.
func (w *worker) record(due time.Time, late time.Duration, kind Kind, err error) {
	s, j := w.shard, &w.judge
	s.mu.Lock()
	defer s.mu.Unlock()
	if kind == Canceled {
		s.Canceled++
		return
	}
	s.Requests++
	record(s.late, late.Microseconds())
	if kind != "" {
		s.Errors[kind]++
		if _, known := s.Examples[kind]; !known {
			s.Examples[kind] = err.Error()
		}
		return
	}
	s.OK++
	s.PromptTokens += j.usage.prompt
	s.CachedTokens += j.usage.cached
	s.OutputTokens += max(j.usage.completion, j.tokens)
	record(s.e2e, j.end.Sub(due).Microseconds())
	if !j.first.IsZero() { // an answer may be empty
		ttft := j.first.Sub(due)
		record(s.ttft, ttft.Microseconds())
		if w.run.cfg.SLO > 0 && ttft <= w.run.cfg.SLO {
			s.WithinSLO++
		}
	}
	for _, g := range j.gaps {
		record(s.itl, g)
	}
}
