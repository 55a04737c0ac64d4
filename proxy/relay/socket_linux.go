package relay

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
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
	upstream   int    // our own descriptor of the engine's socket
	client     int    // borrowed from Stream.Client, which stays open
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
	for range 4 {
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

// takeDescriptors moves the engine's socket off the runtime's poller: two
// pollers on one socket would both wake up for each event. On error nothing has
// changed.
func (s *Stream) takeDescriptors() error {
	tcp, _ := tcpOf(s.Client)
	raw, err := tcp.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { s.os.client = int(fd) })
	}
	if err != nil {
		return fmt.Errorf("cannot reach client socket: %w", err)
	}
	up, err := dupDescriptor(s.Upstream.(*net.TCPConn))
	if err != nil {
		return fmt.Errorf("cannot take over engine connection: %w", err)
	}
	s.os.upstream = up
	_ = s.Upstream.Close()
	return nil
}

func dupDescriptor(c *net.TCPConn) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd, derr := -1, error(nil)
	err = raw.Control(func(orig uintptr) {
		fd, derr = unix.FcntlInt(orig, unix.F_DUPFD_CLOEXEC, 0)
	})
	return fd, errors.Join(err, derr)
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

// adopt makes a net.Conn of a descriptor, nil when that fails.
func adopt(fd int) net.Conn {
	f := os.NewFile(uintptr(fd), "engine")
	c, err := net.FileConn(f)
	_ = f.Close()
	if err != nil {
		return nil
	}
	return c
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
