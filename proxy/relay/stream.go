package relay

import (
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// Ways in which a stream ends early. A nil Result.Err is a complete answer.
var (
	ErrClientGone   = errors.New("relay: client left")
	ErrClientSlow   = errors.New("relay: client does not read")
	ErrGap          = errors.New("relay: engine sent nothing for too long")
	ErrTotal        = errors.New("relay: request took too long")
	ErrUpstreamRead = errors.New("relay: engine connection failed")
	ErrDrained      = errors.New("relay: the replica was removed and its time is over")
	ErrShutdown     = errors.New("relay: gateway is shutting down")
)

// Decoder takes the framing off the engine's bytes; upstream.Decoder is one.
type Decoder interface {
	// Decode compacts the payload of in to its front.
	Decode(in []byte) (payload, consumed int, err error)
	Done() bool
	// End is called at end of file: nil when the message is complete.
	End() error
}

// Observer understands the payload. It is called by one goroutine at a time and
// must not block.
type Observer interface {
	// Payload sees each piece in order and returns what to send: p itself, a
	// part of it, or (when it had held something back) memory of its own. progress is whether output moved on (a comment does
	// not).
	Payload(p []byte, now time.Time) (out []byte, progress bool)
	// Complete judges an answer whose framing ended properly. tail is what was
	// held back and is to be sent now.
	Complete() (tail []byte, err error)
	// Failure returns what tells the client about err in the API's own shape;
	// empty when nothing can be said at this point of the stream.
	Failure(err error) []byte
	// AtBoundary reports whether a comment may be put in here.
	AtBoundary() bool
}

// Limits bounds one stream; zero values mean no limit.
type Limits struct {
	Gap       time.Duration // between pieces that make progress
	Write     time.Duration // one blocked write towards the client
	Heartbeat time.Duration // comment to the client after this much silence
	Total     time.Time     // hard end
	// Drained, when closed, ends the stream: its replica was removed and the
	// time to finish is over. It is looked at about as often as the other
	// limits. nil: never.
	Drained <-chan struct{}
}

// Result is how a stream ended.
type Result struct {
	Err      error // nil: complete
	Surplus  bool  // the engine sent bytes beyond its answer
	Bytes    int64 // payload bytes sent
	Wakeups  int64
	Upstream net.Conn // set when the engine's connection may be used again
}

// Stream is one answer on its way. The caller fills the exported fields and
// calls Start once.
type Stream struct {
	Client   net.Conn
	Upstream net.Conn
	Decoder  Decoder
	Observer Observer
	Limits   Limits
	// Head goes out first, before any payload.
	Head []byte
	// Unread is what was received of the body already, with its framing.
	Unread []byte
	// Chunked frames the payload for the client (RFC 9112 section 7.1).
	Chunked bool
	// Done is called once, at the end, and must not block. The client's
	// connection is the caller's again; it is unusable when Err is set.
	Done func(*Stream, Result)

	gone atomic.Bool
	// waker tells whoever runs the stream to look at gone. It is stored before
	// gone is looked at, and loaded after gone is stored, so one side sees the
	// other.
	waker atomic.Pointer[func(*Stream)]

	pending      []byte // not yet written to a client that is not reading
	finishing    bool   // the last byte has been produced
	failure      error
	surplus      bool
	bytes        int64
	wakeups      int64
	lastProgress time.Time
	lastWrite    time.Time
	blockedSince time.Time
	os           osState
}

// ClientGone ends the stream because its client left. It may be called from
// any goroutine, at any time, and does not block.
func (s *Stream) ClientGone() {
	s.gone.Store(true)
	if wake := s.waker.Load(); wake != nil {
		(*wake)(s)
	}
}

// frameRoom is kept free before each read so that a chunk's size line fits in
// front of the payload, and tailRoom after it.
const (
	frameRoom = 16
	tailRoom  = 16
)

var lastChunk = []byte("0\r\n\r\n")

// step turns n received bytes at buf[frameRoom:] into bytes for the client. The
// returned slice aliases buf. buf has tailRoom bytes beyond the received ones.
func (s *Stream) step(buf []byte, n int, now time.Time) []byte {
	payload, consumed, err := s.Decoder.Decode(buf[frameRoom : frameRoom+n])
	if s.Decoder.Done() && consumed < n {
		s.surplus = true
	}
	out := buf[frameRoom : frameRoom+payload]
	if payload > 0 {
		var progress bool
		out, progress = s.Observer.Payload(out, now)
		if progress {
			s.lastProgress = now
		}
	}
	s.bytes += int64(len(out))
	framed := s.frame(buf, out)
	if err != nil {
		s.failure, s.finishing = errors.Join(ErrUpstreamRead, err), true
		return framed
	}
	if s.Decoder.Done() {
		return s.finish(framed)
	}
	return framed
}

// eof is called when the engine closed its side.
func (s *Stream) eof(buf []byte) []byte {
	if err := s.Decoder.End(); err != nil {
		s.failure, s.finishing = errors.Join(ErrUpstreamRead, err), true
		return nil
	}
	return s.finish(buf[frameRoom:frameRoom])
}

// finish appends the end of the message, if the answer is complete.
func (s *Stream) finish(framed []byte) []byte {
	s.finishing = true
	tail, err := s.Observer.Complete()
	if err != nil {
		s.failure = err
		return framed
	}
	s.bytes += int64(len(tail))
	switch {
	case len(tail) > 0 && s.Chunked:
		framed = appendChunk(framed, tail)
	case len(tail) > 0:
		framed = append(framed, tail...)
	}
	if s.Chunked {
		framed = append(framed, lastChunk...)
	}
	return framed
}

// frame puts the chunk framing around out, which lies within buf with frameRoom
// bytes before it.
func (s *Stream) frame(buf, out []byte) []byte {
	if !s.Chunked || len(out) == 0 {
		return out
	}
	if !within(buf, out) {
		return appendChunk(nil, out)
	}
	// out may have been shortened but still starts where it was or later, so
	// the room in front of it is free.
	start := cap(buf) - cap(out)
	i := start - 2
	buf[i], buf[i+1] = '\r', '\n'
	for n := len(out); n > 0; n >>= 4 {
		i--
		buf[i] = "0123456789abcdef"[n&15]
	}
	end := start + len(out)
	buf = buf[:cap(buf)]
	buf[end], buf[end+1] = '\r', '\n'
	return buf[i : end+2]
}

// within reports whether out is a part of buf's memory up to the same end.
func within(buf, out []byte) bool {
	b, o := buf[:cap(buf)], out[:cap(out)]
	return len(o) <= len(b) && &b[len(b)-1] == &o[len(o)-1]
}

// appendChunk frames p on its own, for what the gateway itself has to say.
func appendChunk(dst, p []byte) []byte {
	var size [8]byte
	i := len(size)
	for n := len(p); n > 0; n >>= 4 {
		i--
		size[i] = "0123456789abcdef"[n&15]
	}
	dst = append(dst, size[i:]...)
	dst = append(dst, '\r', '\n')
	dst = append(dst, p...)
	return append(dst, '\r', '\n')
}

// lastWords is what a client is told when its answer fails: an event in the
// API's own shape, and never the end of the message.
func (s *Stream) lastWords(err error) []byte {
	words := s.Observer.Failure(err)
	if len(words) == 0 || len(s.pending) > 0 {
		return nil
	}
	if s.Chunked {
		return appendChunk(nil, words)
	}
	return words
}

var heartbeatComment = []byte(": keep-alive\n\n")

func (s *Stream) heartbeat() []byte {
	if s.Chunked {
		return appendChunk(nil, heartbeatComment)
	}
	return heartbeatComment
}

// overdue says which limit the stream has passed, if any.
func (s *Stream) overdue(now time.Time) error {
	select {
	case <-s.Limits.Drained:
		return ErrDrained
	default:
	}
	switch {
	case !s.Limits.Total.IsZero() && now.After(s.Limits.Total):
		return ErrTotal
	case len(s.pending) > 0:
		// While the client blocks us, the engine's silence is our doing.
		if s.Limits.Write > 0 && now.Sub(s.blockedSince) > s.Limits.Write {
			return ErrClientSlow
		}
	case s.Limits.Gap > 0 && now.Sub(s.lastProgress) > s.Limits.Gap:
		return ErrGap
	}
	return nil
}

// heartbeatDue reports whether a comment may and should go out now. Total
// silence is not required: one comment after each quiet period is enough.
func (s *Stream) heartbeatDue(now time.Time) bool {
	return s.Limits.Heartbeat > 0 && len(s.pending) == 0 && !s.finishing &&
		now.Sub(s.lastWrite) >= s.Limits.Heartbeat && s.Observer.AtBoundary()
}
