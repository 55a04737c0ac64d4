package zmq

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"time"
)

// The greeting: signature, version, mechanism, role and filler.
const (
	greetingSize  = 64
	signatureSize = 10
	mechanismAt   = 12
	mechanismSize = 20
	major, minor  = 3, 1
)

func greeting() []byte {
	g := make([]byte, greetingSize)
	g[0], g[signatureSize-1] = 0xff, 0x7f
	g[signatureSize], g[signatureSize+1] = major, minor
	copy(g[mechanismAt:], "NULL")
	return g
}

// handshake makes the connection one between a socket of ours and one of the peers.
func (w *wire) handshake(socket string, peers ...string) error {
	if err := w.conn.SetDeadline(time.Now().Add(w.limits.handshake)); err != nil {
		return err
	}
	if _, err := w.conn.Write(greeting()); err != nil {
		return err
	}
	if err := w.readGreeting(); err != nil {
		return err
	}
	ready := append([]byte("\x05READY"), property("Socket-Type", socket)...)
	ready = append(ready, property("Identity", "")...)
	if _, err := w.conn.Write(frame(nil, flagCommand, ready)); err != nil {
		return err
	}
	return w.readReady(peers)
}

func property(name, value string) []byte {
	p := append([]byte{byte(len(name))}, name...)
	p = binary.BigEndian.AppendUint32(p, uint32(len(value)))
	return append(p, value...)
}

func (w *wire) readGreeting() error {
	var g [greetingSize]byte
	if _, err := io.ReadFull(w.reader, g[:signatureSize+1]); err != nil {
		return fmt.Errorf("cannot read the greeting: %w", err)
	}
	switch {
	case g[0] != 0xff || g[signatureSize-1]&1 == 0:
		return fmt.Errorf("cannot speak to a peer that does not speak ZMTP: it begins with %q", g[:signatureSize])
	case g[signatureSize] < major:
		return fmt.Errorf("cannot speak ZMTP %d", g[signatureSize])
	}
	if _, err := io.ReadFull(w.reader, g[signatureSize+1:]); err != nil {
		return fmt.Errorf("cannot read the greeting: %w", err)
	}
	mechanism := g[mechanismAt : mechanismAt+mechanismSize]
	if string(mechanism[:5]) != "NULL\x00" {
		return fmt.Errorf("cannot speak with security mechanism %q", mechanism)
	}
	w.pings = g[signatureSize] > major || g[signatureSize+1] >= 1
	return nil
}

func (w *wire) readReady(peers []string) error {
	flags, size, err := w.head()
	switch {
	case err != nil:
		return fmt.Errorf("cannot read the handshake: %w", err)
	case flags&flagCommand == 0 || size > maxCommand:
		return fmt.Errorf("cannot read the handshake: a frame with flags %#x of %d bytes", flags, size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(w.reader, body); err != nil {
		return fmt.Errorf("cannot read the handshake: %w", err)
	}
	name, rest := commandName(body)
	if name != "READY" {
		return fmt.Errorf("cannot get ready: the peer says %q %q", name, rest[:min(len(rest), 200)])
	}
	if kind := propertyOf(rest, "Socket-Type"); !slices.Contains(peers, kind) {
		return fmt.Errorf("cannot use a socket of type %q: want one of %q", kind, peers)
	}
	return nil
}

// propertyOf finds the value of a property.
func propertyOf(list []byte, want string) string {
	for len(list) > 0 {
		n := int(list[0])
		if len(list) < 1+n+4 {
			return ""
		}
		name, size := string(list[1:1+n]), binary.BigEndian.Uint32(list[1+n:])
		list = list[1+n+4:]
		if uint64(size) > uint64(len(list)) {
			return ""
		}
		if name == want {
			return string(list[:size])
		}
		list = list[size:]
	}
	return ""
}
