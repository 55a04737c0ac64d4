package listen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ServeHandover offers the Set's listeners at a Unix socket until a new process
// has taken them over or ctx ends, and returns nil in both cases.
//
// The new process shares the very sockets, so their backlogs survive whatever
// becomes of either process. Until it says that it is ready, nothing changes
// here: if it crashes, refuses or dawdles, OnFailure hears of it and the next
// one may try. After that the Set is stopped and onTaken is called, once, to
// drain what is open.
//
// Only processes of the same user, or root, may take over. The file at path
// replaces what is there, in one step, as the previous owner has handed over.
func (s *Set) ServeHandover(ctx context.Context, path string, onTaken func()) error {
	control, err := listenControl(ctx, path)
	if err != nil {
		return err
	}
	identity, _ := os.Lstat(path)
	defer func() {
		_ = control.Close()
		removeIfSame(path, identity)
	}()
	stop := context.AfterFunc(ctx, func() { _ = control.Close() })
	defer stop()
	pause := firstPause
	for {
		peer, err := control.AcceptUnix()
		if ctx.Err() != nil {
			if err == nil {
				_ = peer.Close()
			}
			return nil
		}
		if err != nil {
			s.fail(fmt.Errorf("cannot accept a successor: %w", err))
			if !pauseFor(ctx, pause) {
				return nil
			}
			pause = min(2*pause, maxPause)
			continue
		}
		pause = firstPause
		if err := s.handOver(ctx, peer); err != nil {
			s.fail(err)
			continue
		}
		onTaken()
		return nil
	}
}

func pauseFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *Set) fail(err error) {
	if s.options.OnFailure != nil {
		s.options.OnFailure(err)
	}
}

// listenControl binds beside path and renames, so that at every moment either
// the previous owner's socket or a listening new one is at path.
func listenControl(ctx context.Context, path string) (*net.UnixListener, error) {
	beside := path + "." + strconv.Itoa(os.Getpid())
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot clear handover socket: %w", err)
	}
	config := net.ListenConfig{Control: privately}
	ln, err := config.Listen(ctx, "unixpacket", beside)
	if err != nil {
		return nil, fmt.Errorf("cannot listen for successors: %w", err)
	}
	control := ln.(*net.UnixListener)
	control.SetUnlinkOnClose(false)
	if err := os.Rename(beside, path); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot place handover socket: %w", err), control.Close(), os.Remove(beside))
	}
	return control, nil
}

// removeIfSame removes the socket file unless a successor has put its own there.
func removeIfSame(path string, ours os.FileInfo) {
	if now, err := os.Lstat(path); err == nil && ours != nil && os.SameFile(now, ours) {
		_ = os.Remove(path)
	}
}

// handOver runs one handover; nil means that the successor serves.
func (s *Set) handOver(ctx context.Context, peer *net.UnixConn) error {
	defer func() { _ = peer.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = peer.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := checkPeer(peer); err != nil {
		return err
	}
	if err := s.sendOffer(peer); err != nil {
		return err
	}
	if err := expectWord(peer, wordReady, s.options.ReadyTimeout); err != nil {
		return fmt.Errorf("cannot hand over, still serving: %w", err)
	}
	s.release()
	// The successor serves; whether it hears this changes nothing here.
	_ = sayWord(peer, wordReleased, s.options.StepTimeout)
	return nil
}

// release stops accepting, and leaves the files of Unix listeners to the new
// owner.
func (s *Set) release() {
	s.mu.Lock()
	s.handed = true
	s.mu.Unlock()
	for _, sock := range s.list() {
		if u, ok := sock.Listener.(*net.UnixListener); ok {
			u.SetUnlinkOnClose(false)
		}
		sock.Stop()
	}
}

// Handed reports whether the listeners have been taken over.
func (s *Set) Handed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handed
}

func (s *Set) sendOffer(peer *net.UnixConn) error {
	var (
		names []string
		fds   []int
	)
	defer func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}()
	for _, sock := range s.list() {
		fd, err := duplicate(sock.Listener)
		if errors.Is(err, net.ErrClosed) { // closed early by its user
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot hand over listener %s: %w", sock.name, err)
		}
		fds = append(fds, fd)
		names = append(names, sock.name)
	}
	text, err := encodeOffer(names)
	if err != nil {
		return err
	}
	_ = peer.SetWriteDeadline(time.Now().Add(s.options.StepTimeout))
	if _, _, err := peer.WriteMsgUnix(text, unix.UnixRights(fds...), nil); err != nil {
		return fmt.Errorf("cannot send listeners: %w", err)
	}
	return nil
}

// duplicate returns another descriptor of the listening socket. It avoids
// File().Fd(), which makes the socket blocking for everyone who shares it.
func duplicate(ln net.Listener) (int, error) {
	sock, ok := ln.(syscall.Conn)
	if !ok {
		return -1, errors.ErrUnsupported
	}
	raw, err := sock.SyscallConn()
	if err != nil {
		return -1, err
	}
	var (
		copied = -1
		dupErr error
	)
	err = raw.Control(func(fd uintptr) {
		copied, dupErr = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	})
	return copied, errors.Join(err, dupErr)
}

// checkPeer refuses other users. The mode of the socket file does so already;
// this holds where the file's directory or mode has been tampered with.
func checkPeer(peer *net.UnixConn) error {
	raw, err := peer.SyscallConn()
	if err != nil {
		return fmt.Errorf("cannot identify peer: %w", err)
	}
	var (
		cred    *unix.Ucred
		credErr error
	)
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err := errors.Join(err, credErr); err != nil {
		return fmt.Errorf("cannot identify peer: %w", err)
	}
	if !trusted(cred.Uid, os.Geteuid()) {
		return fmt.Errorf("cannot trust peer with uid %d", cred.Uid)
	}
	return nil
}

func trusted(peer uint32, self int) bool { return peer == 0 || int64(peer) == int64(self) }

func sayWord(peer *net.UnixConn, word string, limit time.Duration) error {
	_ = peer.SetWriteDeadline(time.Now().Add(limit))
	if _, err := peer.Write([]byte(word)); err != nil {
		return fmt.Errorf("cannot say %s: %w", word, err)
	}
	return nil
}

func expectWord(peer *net.UnixConn, word string, limit time.Duration) error {
	_ = peer.SetReadDeadline(time.Now().Add(limit))
	buf := make([]byte, 64)
	n, err := peer.Read(buf)
	if err != nil {
		return fmt.Errorf("cannot wait for %s: %w", word, err)
	}
	if string(buf[:n]) != word {
		return fmt.Errorf("cannot understand %q instead of %s", buf[:n], word)
	}
	return nil
}
