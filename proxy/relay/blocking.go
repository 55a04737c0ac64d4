package relay

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

const blockingBuffer = 16 << 10

var blockingBuffers = sync.Pool{New: func() any {
	b := make([]byte, frameRoom+blockingBuffer+tailRoom)
	return &b
}}

// runBlocking relays with blocking calls on the calling goroutine.
func (s *Stream) runBlocking(now func() time.Time) {
	pb := blockingBuffers.Get().(*[]byte)
	defer blockingBuffers.Put(pb)
	err := s.blocking(*pb, now)
	if s.gone.Load() {
		err = ErrClientGone
	}
	s.endBlocking(err)
}

func (s *Stream) blocking(buf []byte, now func() time.Time) error {
	if err := s.writeBlocking(s.Head, now); err != nil {
		return err
	}
	s.Head = nil
	unread := s.Unread
	s.Unread = nil
	for {
		var out []byte
		switch {
		case len(unread) > 0:
			n := copy(buf[frameRoom:len(buf)-tailRoom], unread)
			unread = unread[n:]
			out = s.step(buf, n, now())
		case s.Decoder.Done():
			out = s.finish(buf[frameRoom:frameRoom]) // it was all read before
		default:
			n, err := s.readBlocking(buf[frameRoom:len(buf)-tailRoom], now)
			switch {
			case n > 0:
				out = s.step(buf, n, now())
			case errors.Is(err, io.EOF):
				out = s.eof(buf)
			case errors.Is(err, errHeartbeat):
				out = s.heartbeat()
			case errors.Is(err, errLook):
				continue
			default:
				return err
			}
		}
		s.wakeups++
		if err := s.writeBlocking(out, now); err != nil {
			return err
		}
		if s.finishing {
			return s.failure
		}
	}
}

var (
	errHeartbeat = errors.New("relay: silence")
	errLook      = errors.New("relay: time to look at the limits")
)

// drainedLook is how often a blocked read is interrupted to see whether the
// stream's replica is drained.
const drainedLook = 250 * time.Millisecond

// readBlocking waits for bytes until the nearest limit.
func (s *Stream) readBlocking(p []byte, now func() time.Time) (int, error) {
	t := now()
	var at time.Time
	earlier := func(d time.Time) {
		if at.IsZero() || d.Before(at) {
			at = d
		}
	}
	if s.Limits.Gap > 0 {
		earlier(s.lastProgress.Add(s.Limits.Gap))
	}
	if !s.Limits.Total.IsZero() {
		earlier(s.Limits.Total)
	}
	if s.Limits.Heartbeat > 0 && s.Observer.AtBoundary() {
		earlier(s.lastWrite.Add(s.Limits.Heartbeat))
	}
	if s.Limits.Drained != nil {
		earlier(t.Add(drainedLook))
	}
	if err := s.Upstream.SetReadDeadline(at); err != nil {
		return 0, errors.Join(ErrUpstreamRead, err)
	}
	// The client may have left between the last look and the new deadline.
	if s.gone.Load() {
		return 0, ErrClientGone
	}
	n, err := s.Upstream.Read(p)
	if n > 0 || err == nil {
		return n, nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) && !s.gone.Load() {
		if over := s.overdue(now().Add(time.Nanosecond)); over != nil {
			return 0, over
		}
		if s.heartbeatDue(now()) {
			return 0, errHeartbeat
		}
		return 0, errLook
	}
	if errors.Is(err, io.EOF) {
		return 0, io.EOF
	}
	return 0, errors.Join(ErrUpstreamRead, err)
}

func (s *Stream) writeBlocking(p []byte, now func() time.Time) error {
	if len(p) == 0 {
		return nil
	}
	t := now()
	if s.Limits.Write > 0 {
		if err := s.Client.SetWriteDeadline(t.Add(s.Limits.Write)); err != nil {
			return errors.Join(ErrClientGone, err)
		}
	}
	if _, err := s.Client.Write(p); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return ErrClientSlow
		}
		return errors.Join(ErrClientGone, err)
	}
	s.lastWrite = t
	return nil
}

func (s *Stream) endBlocking(err error) {
	if err != nil && !errors.Is(err, ErrClientGone) && !errors.Is(err, ErrClientSlow) {
		_ = s.Client.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = s.Client.Write(s.lastWords(err)) // the stream has failed either way
	}
	r := Result{Err: err, Surplus: s.surplus, Bytes: s.bytes, Wakeups: s.wakeups}
	if err == nil && !s.surplus && s.Decoder.Done() {
		_ = s.Upstream.SetReadDeadline(time.Time{})
		r.Upstream = s.Upstream
	} else {
		_ = s.Upstream.Close()
	}
	_ = s.Client.SetWriteDeadline(time.Time{})
	s.Done(s, r)
}
