package zmq

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"penstock/routing/kvevents"
)

// Handler takes what a publisher says, on Run's goroutine, one call at a time. Topics
// and payloads are valid during the call.
type Handler interface {
	// Connected: the subscription was sent, for the first time or again.
	Connected() kvevents.Ask
	// Live is a batch as it is published.
	Live(topic []byte, seq uint64, payload []byte) kvevents.Ask
	// Replayed is a batch of the replay that was asked for last.
	Replayed(seq uint64, payload []byte)
	// ReplayEnded says that no more of it comes.
	ReplayEnded(end kvevents.End) kvevents.Ask
}

// Follow makes a Handler of a Publisher that cares for no topics.
func Follow(p *kvevents.Publisher) Handler { return follower{p} }

type follower struct{ *kvevents.Publisher }

// Live drops the topic.
func (f follower) Live(_ []byte, seq uint64, payload []byte) kvevents.Ask {
	return f.Publisher.Live(seq, payload)
}

var _ Handler = follower{}

// Stats counts what happened since New.
type Stats struct {
	Connects  uint64 // connections that came to be
	Failures  uint64 // connections that broke, or did not come to be
	Messages  uint64 // live batches
	Malformed uint64 // messages that are no batch
	Replays   uint64 // replays that came to their end
	Cuts      uint64 // replays that did not
}

// Subscriber listens to one publisher.
type Subscriber struct {
	options Options
	connects, failures, messages, malformed,
	replays, cuts atomic.Uint64
	connected atomic.Bool
}

// New makes a Subscriber; Run makes it listen.
func New(o Options) (*Subscriber, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o.defaults()
	return &Subscriber{options: o}, nil
}

// Stats is what was counted. It may be called at any time.
func (s *Subscriber) Stats() Stats {
	return Stats{
		Connects: s.connects.Load(), Failures: s.failures.Load(), Messages: s.messages.Load(),
		Malformed: s.malformed.Load(), Replays: s.replays.Load(), Cuts: s.cuts.Load(),
	}
}

// Connected reports whether the subscription stands. It may be called at any time.
func (s *Subscriber) Connected() bool { return s.connected.Load() }

// happening is what the reading goroutines tell Run.
type happening struct {
	kind    happened
	message *message // Run's until it takes the next happening
	err     error
}

type happened uint8

const (
	connected happened = iota
	disconnected
	published
	replayed
	replayEnded
)

// run is one call of Run.
type run struct {
	*Subscriber
	handler Handler
	news    chan happening
	group   sync.WaitGroup
}

// Run listens until ctx is done, connecting again whenever the connection breaks, and
// returns when its goroutines have ended. It must not be called twice at a time. A
// handler that is slow slows the publisher's socket down, and what that drops shows as a
// gap: nothing queues here.
func (s *Subscriber) Run(ctx context.Context, h Handler) error {
	ctx, cancel := context.WithCancel(ctx)
	r := run{Subscriber: s, handler: h, news: make(chan happening)}
	defer r.group.Wait()
	defer cancel()
	r.group.Go(func() { r.listen(ctx) })
	for {
		select {
		case <-ctx.Done():
			s.connected.Store(false)
			return context.Cause(ctx)
		case n := <-r.news:
			if ask := r.handle(n); ask.Wanted {
				r.group.Go(func() { r.replay(ctx, ask) })
			}
		}
	}
}

// handle passes one happening to the handler.
func (r *run) handle(n happening) kvevents.Ask {
	switch n.kind {
	case connected:
		r.connects.Add(1)
		r.connected.Store(true)
		return r.handler.Connected()
	case disconnected:
		r.failures.Add(1)
		r.connected.Store(false)
		r.options.Report(n.err)
	case published:
		return r.live(n.message)
	case replayed:
		if m := n.message; len(m.ends) >= 2 && len(m.part(-2)) == 8 {
			r.handler.Replayed(binary.BigEndian.Uint64(m.part(-2)), m.part(-1))
		} else {
			r.malformed.Add(1)
		}
	case replayEnded:
		if n.err == nil {
			r.replays.Add(1)
			return r.handler.ReplayEnded(kvevents.Whole)
		}
		r.cuts.Add(1)
		r.options.Report(n.err)
		return r.handler.ReplayEnded(kvevents.Cut)
	}
	return kvevents.Ask{}
}

func (r *run) live(m *message) kvevents.Ask {
	if len(m.ends) != 3 || len(m.part(1)) != 8 {
		r.malformed.Add(1)
		return kvevents.Ask{}
	}
	r.messages.Add(1)
	return r.handler.Live(m.part(0), binary.BigEndian.Uint64(m.part(1)), m.part(2))
}

// tell hands something to Run and reports whether it was taken.
func (r *run) tell(ctx context.Context, n happening) bool {
	select {
	case r.news <- n:
		return true
	case <-ctx.Done():
		return false
	}
}

// listen keeps a subscription up.
func (r *run) listen(ctx context.Context) {
	pause := r.options.BackoffMin
	for ctx.Err() == nil {
		heard, err := r.subscribe(ctx)
		if !r.tell(ctx, happening{kind: disconnected, err: err}) {
			return
		}
		if heard {
			pause = r.options.BackoffMin
		}
		if !r.rest(ctx, pause) {
			return
		}
		pause = min(2*pause, r.options.BackoffMax)
	}
}

// rest waits for between half of a pause and the whole; false if ctx ended it.
func (r *run) rest(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(time.Duration((0.5 + r.options.Jitter()/2) * float64(pause)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// subscribe is one connection to the publisher, as long as it lasts. heard reports
// whether anything came over it.
func (r *run) subscribe(ctx context.Context) (heard bool, err error) {
	w, hangUp, err := r.connect(ctx, r.options.Endpoint, "SUB", "PUB", "XPUB")
	if err != nil {
		return false, err
	}
	defer hangUp()
	// The subscription as ZMTP 3.0 has it, a message; 3.1 peers take that too.
	if err := w.write(frame(nil, 0, append([]byte{1}, r.options.Topic...))); err != nil {
		return false, fmt.Errorf("cannot subscribe at %q: %w", r.options.Endpoint, err)
	}
	if !r.tell(ctx, happening{kind: connected}) {
		return false, ctx.Err()
	}
	heard, err = r.pump(ctx, w, published)
	return heard, fmt.Errorf("cannot listen to %q: %w", r.options.Endpoint, err)
}
