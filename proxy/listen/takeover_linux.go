package listen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// Handed is a takeover under way: the listeners of the old process, which goes
// on accepting from them until Ready.
type Handed struct {
	path      string
	peer      *net.UnixConn
	listeners map[string]net.Listener
}

// Takeover asks the process that serves handovers at path for its listeners.
// It returns ErrNobody when there is none. Give the listeners to a Set, start
// accepting, then call Ready; to give up, close the listeners and call Close.
// Each step takes at most 5s.
func Takeover(ctx context.Context, path string) (*Handed, error) {
	peer, err := dialControl(ctx, path)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = peer.SetDeadline(time.Unix(1, 0)) })
	listeners, err := receiveOffer(peer)
	if !stop() {
		err = errors.Join(err, context.Cause(ctx))
	}
	if err != nil {
		closeAll(listeners)
		return nil, errors.Join(err, peer.Close())
	}
	return &Handed{path: path, peer: peer, listeners: listeners}, nil
}

func dialControl(ctx context.Context, path string) (*net.UnixConn, error) {
	dialer := net.Dialer{Timeout: defaultStepTimeout}
	c, err := dialer.DialContext(ctx, "unixpacket", path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED) {
		return nil, ErrNobody
	}
	if err != nil {
		return nil, fmt.Errorf("cannot reach predecessor: %w", err)
	}
	return c.(*net.UnixConn), nil
}

func receiveOffer(peer *net.UnixConn) (map[string]net.Listener, error) {
	// The peer is the process that bound the socket: its sockets are believed
	// only if it is one of ours.
	if err := checkPeer(peer); err != nil {
		return nil, err
	}
	_ = peer.SetReadDeadline(time.Now().Add(defaultStepTimeout))
	text := make([]byte, maxOffer)
	rights := make([]byte, unix.CmsgSpace(4*maxInherited))
	n, control, flags, _, err := peer.ReadMsgUnix(text, rights)
	if err != nil {
		return nil, fmt.Errorf("cannot receive listeners: %w", err)
	}
	fds, err := descriptors(rights[:control])
	if err == nil && flags&(unix.MSG_CTRUNC|unix.MSG_TRUNC) != 0 {
		err = errors.New("cannot receive listeners: message is cut off")
	}
	var names []string
	if err == nil {
		names, err = decodeOffer(text[:n])
	}
	if err == nil && len(names) != len(fds) {
		err = fmt.Errorf("cannot match %d names to %d descriptors", len(names), len(fds))
	}
	if err != nil {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
		return nil, err
	}
	return listenersOf(names, fds)
}

func listenersOf(names []string, fds []int) (map[string]net.Listener, error) {
	listeners := make(map[string]net.Listener, len(fds))
	var errs []error
	for i, fd := range fds {
		ln, err := listenerOf(uintptr(fd), names[i])
		if err != nil {
			errs = append(errs, fmt.Errorf("cannot use listener %q: %w", names[i], err))
			continue
		}
		listeners[names[i]] = ln
	}
	return listeners, errors.Join(errs...)
}

func descriptors(control []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil, fmt.Errorf("cannot read descriptors: %w", err)
	}
	var fds []int
	for i := range messages {
		some, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return fds, fmt.Errorf("cannot read descriptors: %w", err)
		}
		fds = append(fds, some...)
	}
	return fds, nil
}

// Listeners returns the listeners by name, for Set.Adopt.
func (h *Handed) Listeners() map[string]net.Listener { return h.listeners }

// Ready tells the old process that this one accepts, and returns once the old
// one has stopped. If it returns an error the old process may be serving still
// and this one should end. An old process that died meanwhile is no error: then
// the sockets are ours. From here on the files of Unix listeners are ours too
// and go when these are closed.
func (h *Handed) Ready() error {
	err := sayWord(h.peer, wordReady, defaultStepTimeout)
	if err == nil {
		err = expectWord(h.peer, wordReleased, defaultStepTimeout)
	}
	_ = h.peer.Close()
	if err == nil {
		h.ownFiles()
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), defaultStepTimeout)
	defer cancel()
	probe, probeErr := dialControl(ctx, h.path)
	if errors.Is(probeErr, ErrNobody) {
		h.ownFiles()
		return nil
	}
	if probeErr == nil {
		_ = probe.Close()
	}
	return fmt.Errorf("cannot complete takeover: %w", err)
}

func (h *Handed) ownFiles() {
	for _, ln := range h.listeners {
		if u, ok := ln.(*net.UnixListener); ok {
			u.SetUnlinkOnClose(true)
		}
	}
}

// Close gives the takeover up; the old process goes on as before. The listeners
// are not closed by it. After Ready it does nothing.
func (h *Handed) Close() error {
	if err := h.peer.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("cannot close takeover: %w", err)
	}
	return nil
}
