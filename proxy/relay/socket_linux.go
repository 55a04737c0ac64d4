package relay

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// osState is what a loop keeps per stream.
type osState struct {
	loop       *loop
	slot       int32
	generation uint32 // of the slot when this stream took it
	upstream   int    // of Stream.Upstream
	client     int    // of Stream.Client
	watching   bool   // client registered for writability
	again      bool   // the engine's socket may hold unread bytes
	ended      bool
}

// onLoop reports whether both sides are bare TCP.
func onLoop(s *Stream) bool {
	_, up := s.Upstream.(*net.TCPConn)
	_, down := tcpOf(s.Client)
	return up && down
}

// tcpOf finds the TCP connection under wrappers that only watch it. A TLS
// connection also has a NetConn and must not be looked through.
func tcpOf(c net.Conn) (*net.TCPConn, bool) {
	for range 8 {
		switch v := c.(type) {
		case *net.TCPConn:
			return v, true
		case interface{ ConnectionState() tls.ConnectionState }:
			return nil, false
		case interface{ NetConn() net.Conn }:
			c = v.NetConn()
		default:
			return nil, false
		}
	}
	return nil, false
}

// takeDescriptors finds the descriptors under the two connections, which stay
// open and the stream's own until its end. The runtime's poller keeps watching
// them too; since the loop's epoll hangs below that poller, both show up in one
// wake-up of one thread.
func (s *Stream) takeDescriptors() error {
	client, _ := tcpOf(s.Client)
	var err error
	if s.os.client, err = descriptor(client); err != nil {
		return fmt.Errorf("cannot reach client socket: %w", err)
	}
	if s.os.upstream, err = descriptor(s.Upstream.(*net.TCPConn)); err != nil {
		return fmt.Errorf("cannot reach engine socket: %w", err)
	}
	return nil
}

func descriptor(c *net.TCPConn) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	err = raw.Control(func(d uintptr) { fd = int(d) })
	return fd, err
}

// send writes p to the client; what does not fit is copied to pending. p may be
// the old pending itself.
func (s *Stream) send(p []byte, now time.Time) error {
	if len(s.pending) > 0 {
		s.pending = append(s.pending, p...)
		return nil
	}
	moved := false
	for len(p) > 0 {
		n, err := writeNonblock(s.os.client, p)
		switch {
		case n > 0:
			p, moved = p[n:], true
			s.lastWrite = now
		case err == unix.EAGAIN: //nolint:errorlint // a bare errno from a raw call
			if moved || s.blockedSince.IsZero() {
				s.blockedSince = now
			}
			s.pending = append([]byte(nil), p...)
			return nil
		default:
			return errors.Join(ErrClientGone, err)
		}
	}
	s.blockedSince = time.Time{}
	return nil
}

// The calls below never block, so they go without the scheduler's ceremony
// around system calls that might.

func epollNow(fd int, events []unix.EpollEvent) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(fd),
			uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
			continue
		default:
			return 0, errno
		}
	}
}

func readNonblock(fd int, p []byte) (int, error)  { return rawTransfer(syscall.SYS_READ, fd, p) }
func writeNonblock(fd int, p []byte) (int, error) { return rawTransfer(syscall.SYS_WRITE, fd, p) }

func rawTransfer(call uintptr, fd int, p []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
			continue
		default:
			return 0, errno
		}
	}
}
