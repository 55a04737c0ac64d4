package zmq

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"penstock/routing/kvevents"
)

// connect makes a connection of a socket of ours; hangUp ends it, as ctx does.
func (r *run) connect(ctx context.Context, endpoint, socket string, peers ...string) (w *wire, hangUp func(), err error) {
	o := &r.options
	network, addr, err := address(endpoint)
	if err != nil {
		return nil, nil, err
	}
	dialing, cancel := context.WithTimeout(ctx, o.ConnectTimeout)
	defer cancel()
	conn, err := o.Dial(dialing, network, addr)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot connect to %q: %w", endpoint, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	hangUp = func() {
		stop()
		_ = conn.Close()
	}
	w = newWire(conn, limits{
		message: o.MaxMessage, parts: maxParts, handshake: o.ConnectTimeout, idle: o.Idle, silence: o.Silence,
	})
	if err := w.handshake(socket, peers...); err != nil {
		hangUp()
		return nil, nil, fmt.Errorf("cannot connect to %q: %w", endpoint, err)
	}
	return w, hangUp, nil
}

// errEnd is how pump ends when the peer has said that no more comes.
var errEnd = errors.New("the end")

// pump hands messages to Run until the connection ends. Two buffers are enough: Run takes
// one only when it is done with the one before.
func (r *run) pump(ctx context.Context, w *wire, kind happened) (heard bool, err error) {
	var messages [2]message
	for i := 0; ; i ^= 1 {
		m := &messages[i]
		if err := w.read(m); err != nil {
			return heard, err
		}
		heard = true
		if kind == replayed && isEnd(m) {
			return heard, errEnd
		}
		if !r.tell(ctx, happening{kind: kind, message: m}) {
			return heard, context.Cause(ctx)
		}
	}
}

// isEnd recognises the last message of a replay, in either layout: its number is all
// ones.
func isEnd(m *message) bool {
	return len(m.ends) >= 2 && len(m.part(-2)) == 8 && binary.BigEndian.Uint64(m.part(-2)) == math.MaxUint64
}

// replay gets what was asked for.
func (r *run) replay(ctx context.Context, ask kvevents.Ask) {
	if ask.Attempt > 1 && !r.rest(ctx, r.pauseBefore(ask.Attempt)) {
		return
	}
	err := r.request(ctx, ask.From)
	if errors.Is(err, errEnd) {
		err = nil
	}
	r.tell(ctx, happening{kind: replayEnded, err: err})
}

// pauseBefore is how long to wait before the n-th attempt.
func (r *run) pauseBefore(n int) time.Duration {
	pause := r.options.BackoffMin
	for ; n > 2 && pause < r.options.BackoffMax; n-- {
		pause *= 2
	}
	return min(pause, r.options.BackoffMax)
}

// request is one replay over a connection of its own.
func (r *run) request(ctx context.Context, from uint64) error {
	endpoint := r.options.ReplayEndpoint
	if endpoint == "" {
		return errors.New("cannot replay: there is no endpoint for it")
	}
	w, hangUp, err := r.connect(ctx, endpoint, "DEALER", "ROUTER")
	if err != nil {
		return err
	}
	defer hangUp()
	// The publisher wants an empty frame, as a REQ socket would send it.
	ask := frame(nil, flagMore, nil)
	if err := w.write(frame(ask, 0, binary.BigEndian.AppendUint64(nil, from))); err != nil {
		return fmt.Errorf("cannot ask %q for a replay: %w", endpoint, err)
	}
	w.owes, w.limits.silence = true, r.options.ReplayIdle
	if _, err = r.pump(ctx, w, replayed); errors.Is(err, errEnd) {
		return err
	}
	return fmt.Errorf("cannot replay from %q: %w", endpoint, err)
}
