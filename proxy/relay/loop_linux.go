package relay

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	batchSize = 256
	// turnReads bounds what one stream may move before others get a turn.
	turnReads = 16
	// clientBit marks an event of a stream's client side.
	clientBit = 1 << 31
)

// loop is one epoll with the streams registered on it. Only its goroutine
// touches a stream after start returned.
type loop struct {
	r       *Relay
	epoll   int
	poll    *os.File // the epoll itself, registered with the runtime's poller
	raw     syscall.RawConn
	wakeup  int // eventfd
	scratch []byte
	done    chan struct{}
	post    func(*Stream) // asks the loop to look at a stream's gone flag
	more    []*Stream     // had their turn and have more to read

	nextTick time.Time

	mu     sync.Mutex // guards the fields below
	slots  []slot
	free   []int32
	mail   []*Stream // streams whose client left
	closed bool
}

type slot struct {
	s          *Stream
	generation uint32
}

func startLoops(r *Relay) ([]*loop, error) {
	var loops []*loop
	for range r.cfg.Loops {
		l, err := newLoop(r)
		if err != nil {
			for _, o := range loops {
				o.close()
			}
			return nil, err
		}
		go l.run()
		loops = append(loops, l)
	}
	return loops, nil
}

func newLoop(r *Relay) (*loop, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("cannot create relay epoll: %w", err)
	}
	// os.NewFile hands only a non-blocking descriptor to the runtime's poller.
	if err := unix.SetNonblock(ep, true); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot make relay epoll non-blocking: %w", err), unix.Close(ep))
	}
	l := &loop{
		r: r, epoll: ep, poll: os.NewFile(uintptr(ep), "relay"), done: make(chan struct{}),
		scratch: make([]byte, frameRoom+r.cfg.Buffer+tailRoom),
		slots:   make([]slot, 1), // slot 0 is the eventfd
	}
	l.post = l.postMail
	if l.raw, err = l.poll.SyscallConn(); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot reach relay epoll: %w", err), l.poll.Close())
	}
	l.wakeup, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot create relay eventfd: %w", err), l.poll.Close())
	}
	in := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET}
	if err := unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, l.wakeup, &in); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot watch relay eventfd: %w", err), l.poll.Close(), unix.Close(l.wakeup))
	}
	return l, nil
}

// start writes what is there already and registers the stream.
func (l *loop) start(s *Stream) {
	s.os.loop = l
	pb := blockingBuffers.Get().(*[]byte)
	err := l.prime(s, *pb)
	blockingBuffers.Put(pb)
	if err == nil && (!s.finishing || len(s.pending) > 0) {
		if err = l.register(s); err == nil {
			return // the stream is the loop's now
		}
	}
	if err == nil {
		err = s.failure
	}
	l.end(s, err)
}

// prime sends the head and what was received before the stream came here.
func (l *loop) prime(s *Stream, buf []byte) error {
	now := l.r.cfg.Now()
	out := s.Head
	for {
		if err := s.send(out, now); err != nil {
			return err
		}
		switch {
		case s.finishing:
			s.Head, s.Unread = nil, nil
			return nil
		case len(s.Unread) == 0 && s.Decoder.Done():
			out = s.finish(buf[frameRoom:frameRoom]) // it was all read before
			continue
		case len(s.Unread) == 0:
			s.Head = nil
			return nil
		}
		n := copy(buf[frameRoom:len(buf)-tailRoom], s.Unread)
		s.Unread = s.Unread[n:]
		out = s.step(buf, n, now)
	}
}

func (l *loop) register(s *Stream) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrShutdown
	}
	if n := len(l.free); n > 0 {
		s.os.slot = l.free[n-1]
		l.free = l.free[:n-1]
	} else {
		s.os.slot = int32(len(l.slots))
		l.slots = append(l.slots, slot{})
	}
	sl := &l.slots[s.os.slot]
	sl.generation++
	sl.s = s
	s.os.generation = sl.generation
	ev := unix.EpollEvent{
		Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET,
		Fd:     s.os.slot, Pad: int32(sl.generation),
	}
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, s.os.upstream, &ev); err != nil {
		sl.s = nil
		l.free = append(l.free, s.os.slot)
		s.os.slot = 0
		return fmt.Errorf("cannot watch engine connection: %w", err)
	}
	if len(s.pending) > 0 {
		if err := l.watchClient(s); err != nil {
			return err
		}
	}
	s.waker.Store(&l.post)
	if s.gone.Load() {
		l.mail = append(l.mail, s)
		l.ring()
	}
	return nil
}

func (l *loop) postMail(s *Stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.mail = append(l.mail, s)
	l.ring()
}

func (l *loop) ring() {
	_, _ = unix.Write(l.wakeup, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // full means rung already
}

func (l *loop) close() {
	l.mu.Lock()
	l.closed = true
	l.ring()
	l.mu.Unlock()
	<-l.done
}

// run waits in the runtime's poller: the epoll is itself registered there, since
// an epoll is readable when it has events. A thread blocked in epoll_wait would
// keep the runtime's monitor polling at 50 kHz to take its processor away, a
// fifth of the cost of an event when it was measured.
func (l *loop) run() {
	defer close(l.done)
	events := make([]unix.EpollEvent, batchSize)
	turn := func(uintptr) (stop bool) { return l.turn(events) }
	for {
		l.nextTick = l.r.cfg.Now().Add(l.r.cfg.Tick)
		_ = l.poll.SetReadDeadline(l.nextTick)
		err := l.raw.Read(turn)
		switch {
		case err == nil:
			l.shutdown()
			return
		case errors.Is(err, os.ErrDeadlineExceeded):
			l.tick(l.r.cfg.Now())
		default:
			panic(fmt.Sprintf("BUG: relay epoll: %v", err))
		}
	}
}

// turn handles what is ready. It reports whether the loop must end.
func (l *loop) turn(events []unix.EpollEvent) (stop bool) {
	for {
		n, err := epollNow(l.epoll, events)
		if err != nil {
			panic(fmt.Sprintf("BUG: relay epoll: %v", err))
		}
		now := l.r.cfg.Now()
		for i := range n {
			l.dispatch(&events[i], now)
		}
		l.continueReading(now)
		if now.After(l.nextTick) { // streams that always have more must not hold up the limits
			l.tick(now)
			l.nextTick = now.Add(l.r.cfg.Tick)
		}
		if l.takeMail() {
			return true
		}
		if n < len(events) && len(l.more) == 0 {
			return false // the next event is a new edge
		}
	}
}

func (l *loop) dispatch(ev *unix.EpollEvent, now time.Time) {
	if ev.Fd == 0 {
		var b [8]byte
		_, _ = unix.Read(l.wakeup, b[:])
		return
	}
	l.mu.Lock()
	sl := l.slots[ev.Fd&^(-clientBit)]
	l.mu.Unlock()
	s := sl.s
	if s == nil || sl.generation != uint32(ev.Pad) || s.os.ended {
		return
	}
	s.wakeups++
	if ev.Fd < 0 {
		l.clientWritable(s, now)
		return
	}
	l.engineReadable(s, ev.Events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0, now)
}

// engineReadable moves what is there. closed means that end of file is near,
// so a short read proves nothing.
func (l *loop) engineReadable(s *Stream, closed bool, now time.Time) {
	if len(s.pending) > 0 {
		s.os.again = true // backpressure: leave the bytes in the kernel
		return
	}
	if s.finishing {
		return
	}
	for range turnReads {
		buf := l.scratch
		n, err := readNonblock(s.os.upstream, buf[frameRoom:len(buf)-tailRoom])
		var out []byte
		switch {
		case n > 0:
			out = s.step(buf, n, now)
		case err == unix.EAGAIN: //nolint:errorlint // a bare errno from a raw call
			return
		case err != nil:
			l.end(s, errors.Join(ErrUpstreamRead, err))
			return
		default:
			out = s.eof(buf)
		}
		if err := s.send(out, now); err != nil {
			l.end(s, err)
			return
		}
		if s.settle(l) {
			return
		}
		if n < l.r.cfg.Buffer && !closed {
			return // drained: the next byte is a new edge
		}
	}
	l.more = append(l.more, s) // others first
}

// continueReading gives streams that used up their turn another one.
func (l *loop) continueReading(now time.Time) {
	more := l.more
	l.more = nil
	for _, s := range more {
		if !s.os.ended {
			l.engineReadable(s, true, now)
		}
	}
}

// settle handles the two states in which reading must stop. It reports whether
// the caller is done with the stream for now.
func (s *Stream) settle(l *loop) bool {
	if len(s.pending) > 0 {
		s.os.again = true
		if err := l.watchClient(s); err != nil {
			l.end(s, err)
		}
		return true
	}
	if s.finishing {
		l.end(s, s.failure)
		return true
	}
	return false
}

func (l *loop) clientWritable(s *Stream, now time.Time) {
	if len(s.pending) == 0 {
		return
	}
	p := s.pending
	s.pending = nil
	if err := s.send(p, now); err != nil {
		l.end(s, err)
		return
	}
	if len(s.pending) > 0 {
		return
	}
	if s.finishing {
		l.end(s, s.failure)
		return
	}
	if s.os.again {
		s.os.again = false
		// The edge was consumed while we were blocked: read until empty.
		l.engineReadable(s, true, now)
	}
}

// watchClient asks for an edge when the client's socket takes bytes again.
func (l *loop) watchClient(s *Stream) error {
	if s.os.watching {
		return nil
	}
	ev := unix.EpollEvent{
		Events: unix.EPOLLOUT | unix.EPOLLET,
		Fd:     s.os.slot | -clientBit, Pad: int32(s.os.generation),
	}
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, s.os.client, &ev); err != nil {
		return fmt.Errorf("cannot watch client connection: %w", err)
	}
	s.os.watching = true
	return nil
}

// takeMail ends the streams whose clients left; it reports closing.
func (l *loop) takeMail() (closing bool) {
	l.mu.Lock()
	mail := l.mail
	l.mail = nil
	closing = l.closed
	l.mu.Unlock()
	for _, s := range mail {
		if !s.os.ended && s.gone.Load() {
			l.end(s, ErrClientGone)
		}
	}
	return closing
}

// tick enforces the limits; streams are few thousand at most and looked at
// about four times a second.
func (l *loop) tick(now time.Time) {
	for _, s := range l.streams() {
		if err := s.overdue(now); err != nil {
			l.end(s, err)
			continue
		}
		if s.heartbeatDue(now) {
			if err := s.send(s.heartbeat(), now); err != nil {
				l.end(s, err)
				continue
			}
			if len(s.pending) > 0 {
				s.settle(l)
			}
		}
	}
}

func (l *loop) streams() []*Stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*Stream
	for i := range l.slots {
		if s := l.slots[i].s; s != nil && !s.os.ended {
			all = append(all, s)
		}
	}
	return all
}

func (l *loop) shutdown() {
	for _, s := range l.streams() {
		l.end(s, ErrShutdown)
	}
	_, _ = l.poll.Close(), unix.Close(l.wakeup)
}

// end takes the stream off the loop and reports how it ended.
func (l *loop) end(s *Stream, err error) {
	s.os.ended = true
	if s.os.slot > 0 {
		l.unregister(s)
	}
	if err != nil && !errors.Is(err, ErrClientGone) && !errors.Is(err, ErrClientSlow) {
		if w := s.lastWords(err); len(w) > 0 {
			_, _ = writeNonblock(s.os.client, w) // the stream has failed either way
		}
	}
	s.pending = nil
	r := Result{Err: err, Surplus: s.surplus, Bytes: s.bytes, Wakeups: s.wakeups}
	if err == nil && !s.surplus && s.Decoder.Done() {
		r.Upstream = s.Upstream
	} else {
		_ = s.Upstream.Close()
	}
	s.Done(s, r)
}

func (l *loop) unregister(s *Stream) {
	if s.os.watching {
		_ = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, s.os.client, nil)
	}
	_ = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, s.os.upstream, nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	sl := &l.slots[s.os.slot]
	sl.s = nil
	sl.generation++
	l.free = append(l.free, s.os.slot)
}
