package zmq

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Flags of a frame.
const (
	flagMore    = 1
	flagLong    = 2
	flagCommand = 4
)

// Errors of a connection that callers tell apart.
var (
	errSilent   = errors.New("the peer is silent")
	errTooLarge = errors.New("a message beyond the limit")
)

// message is a multipart message in one buffer.
type message struct {
	data []byte
	ends []int // of the parts in data
}

func (m *message) reset() {
	if cap(m.data) > keptMessage {
		m.data = nil
	}
	m.data, m.ends = m.data[:0], m.ends[:0]
}

// keptMessage is how large a buffer is kept for the next message.
const keptMessage = 1 << 20

// part is the i-th part; negative ones count from the end.
func (m *message) part(i int) []byte {
	if i < 0 {
		i += len(m.ends)
	}
	from := 0
	if i > 0 {
		from = m.ends[i-1]
	}
	return m.data[from:m.ends[i]]
}

// wire is one connection after its handshake. One goroutine uses it: pings are sent and
// answered between reads.
type wire struct {
	conn   net.Conn
	reader *bufio.Reader
	pings  bool // the peer knows them: ZMTP 3.1 or later
	owes   bool // the peer has been asked for something: it may not pause long
	limits limits
}

// limits of a connection.
type limits struct {
	message   int           // bytes of a message with all its parts
	parts     int           // of a message
	handshake time.Duration // for all of it
	idle      time.Duration // of silence before a ping
	silence   time.Duration // after the ping, or within a message, before it is dead
}

// maxCommand is far beyond the commands that peers without security send.
const maxCommand = 4096

func newWire(conn net.Conn, l limits) *wire {
	return &wire{conn: conn, reader: bufio.NewReaderSize(conn, 64<<10), limits: l}
}

// head reads the flags and the size of a frame.
func (w *wire) head() (flags byte, size uint64, err error) {
	if flags, err = w.reader.ReadByte(); err != nil {
		return 0, 0, err
	}
	if flags&^(flagMore|flagLong|flagCommand) != 0 || flags&(flagCommand|flagMore) == flagCommand|flagMore {
		return 0, 0, fmt.Errorf("cannot read a frame with flags %#x", flags)
	}
	if flags&flagLong == 0 {
		short, err := w.reader.ReadByte()
		return flags, uint64(short), err
	}
	var long [8]byte
	_, err = io.ReadFull(w.reader, long[:])
	return flags, binary.BigEndian.Uint64(long[:]), err
}

// read reads the next message into m; commands on the way are obeyed.
func (w *wire) read(m *message) error {
	m.reset()
	for {
		if err := w.await(w.owes || len(m.ends) > 0); err != nil {
			return err
		}
		flags, size, err := w.head()
		switch {
		case err != nil:
			return err
		case flags&flagCommand != 0:
			if err := w.command(size); err != nil {
				return err
			}
			continue
		case size > uint64(w.limits.message-len(m.data)), len(m.ends) >= w.limits.parts:
			return errTooLarge
		}
		if err := w.body(m, int(size)); err != nil {
			return err
		}
		m.ends = append(m.ends, len(m.data))
		if flags&flagMore == 0 {
			return nil
		}
	}
}

// body appends a frame's body, growing with what has come and not with what the head
// promises.
func (w *wire) body(m *message, size int) error {
	const step = 1 << 20
	for size > 0 {
		from, n := len(m.data), min(size, step)
		m.data = append(m.data, make([]byte, n)...)
		if _, err := io.ReadFull(w.reader, m.data[from:]); err != nil {
			return err
		}
		size -= n
	}
	return nil
}

// await waits for the first byte of a frame. Within a message the peer may not pause
// long; between messages silence is answered with a ping, and silence after that ends
// the connection.
func (w *wire) await(within bool) error {
	if w.reader.Buffered() > 0 && !within {
		// What is buffered is enough to go on; the deadline covers the rest of the frame.
		return w.conn.SetReadDeadline(time.Now().Add(w.limits.silence))
	}
	wait := w.limits.idle
	if within {
		wait = w.limits.silence
	}
	for pinged := false; ; pinged = true {
		if err := w.conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
			return err
		}
		_, err := w.reader.Peek(1)
		if err == nil {
			return w.conn.SetReadDeadline(time.Now().Add(w.limits.silence))
		}
		var timeout net.Error
		switch {
		case !errors.As(err, &timeout) || !timeout.Timeout():
			return err
		case within, pinged && w.pings:
			return errSilent
		case !w.pings:
			continue // the kernel's probes say whether the peer is there
		}
		if err := w.ping(); err != nil {
			return err
		}
		wait = w.limits.silence
	}
}

// ping asks for a sign of life. The peer may forget us after the time to live.
func (w *wire) ping() error {
	life := 2 * (w.limits.idle + w.limits.silence) / (100 * time.Millisecond)
	body := binary.BigEndian.AppendUint16([]byte("\x04PING"), uint16(min(life, 0xffff)))
	return w.write(frame(nil, flagCommand, body))
}

// command reads a command and answers a ping.
func (w *wire) command(size uint64) error {
	if size > maxCommand {
		return errTooLarge
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(w.reader, body); err != nil {
		return err
	}
	name, rest := commandName(body)
	switch {
	case name == "PING" && len(rest) >= 2:
		return w.write(frame(nil, flagCommand, append([]byte("\x04PONG"), rest[2:min(len(rest), 18)]...)))
	case name == "ERROR":
		return fmt.Errorf("the peer refuses: %q", rest[:min(len(rest), 200)])
	}
	return nil
}

func commandName(body []byte) (name string, rest []byte) {
	if len(body) == 0 || int(body[0]) >= len(body) {
		return "", nil
	}
	return string(body[1 : 1+body[0]]), body[1+body[0]:]
}

// write sends bytes; a peer that does not take them is dead.
func (w *wire) write(b []byte) error {
	if err := w.conn.SetWriteDeadline(time.Now().Add(w.limits.silence)); err != nil {
		return err
	}
	_, err := w.conn.Write(b)
	return err
}

// frame appends a frame.
func frame(dst []byte, flags byte, body []byte) []byte {
	if len(body) > 255 {
		dst = append(dst, flags|flagLong)
		dst = binary.BigEndian.AppendUint64(dst, uint64(len(body)))
	} else {
		dst = append(dst, flags, byte(len(body)))
	}
	return append(dst, body...)
}
