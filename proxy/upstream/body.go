package upstream

import (
	"bytes"
	"errors"
	"io"
)

// ErrBadChunk means that the engine broke the chunked framing.
var ErrBadChunk = errors.New("upstream: malformed chunk")

// maxTrailerBytes bounds what may follow the last chunk.
const maxTrailerBytes = 8 << 10

// chunkState is where a Decoder stands within the chunked framing.
type chunkState uint8

const (
	chunkSize  chunkState = iota // reading the hex size
	chunkExt                     // skipping an extension up to LF
	chunkSizeL                   // CR seen, LF must follow
	chunkData                    // inside a chunk's payload
	chunkDataR                   // CR must follow the payload
	chunkDataL                   // LF must follow
	chunkTrail                   // trailer section, up to an empty line
	chunkDone
)

// Decoder takes the framing off a response body, incrementally and without
// copying more than it must. It is pure: bytes in, bytes out.
type Decoder struct {
	length  int64 // LengthChunked, LengthClose, or the payload bytes left
	left    int64 // payload bytes left in the current chunk
	digits  int
	trailer int
	lineLen int
	state   chunkState
	extCR   bool // the last byte of the extension so far was CR
	done    bool
}

// Reset prepares d for a body framed as length says (see Head.Length).
func (d *Decoder) Reset(length int64) {
	*d = Decoder{length: length, done: length == 0}
}

// Done reports whether the whole body has been seen.
func (d *Decoder) Done() bool { return d.done }

// Decode compacts the payload of in to its front and returns how many payload
// bytes there are and how much of in was consumed. Bytes beyond the end of the
// body are left unconsumed. It never holds bytes back.
func (d *Decoder) Decode(in []byte) (payload, consumed int, err error) {
	switch {
	case d.done:
		return 0, 0, nil
	case d.length >= 0:
		n := len(in)
		if int64(n) > d.length {
			n = int(d.length)
		}
		d.length -= int64(n)
		d.done = d.length == 0
		return n, n, nil
	case d.length == LengthClose:
		return len(in), len(in), nil
	}
	return d.chunks(in)
}

// End is called at the end of the connection's bytes: nil when that is the end
// of the body too, io.ErrUnexpectedEOF when the body was cut.
func (d *Decoder) End() error {
	if d.done {
		return nil
	}
	if d.length == LengthClose {
		d.done = true
		return nil
	}
	return io.ErrUnexpectedEOF
}

func (d *Decoder) chunks(in []byte) (payload, consumed int, err error) {
	i := 0
	for i < len(in) && !d.done {
		if d.state == chunkData {
			n := len(in) - i
			if int64(n) > d.left {
				n = int(d.left)
			}
			if payload != i {
				copy(in[payload:], in[i:i+n])
			}
			payload += n
			i += n
			if d.left -= int64(n); d.left == 0 {
				d.state = chunkDataR
			}
			continue
		}
		if d.state == chunkExt {
			n, err := d.extension(in[i:])
			if i += n; err != nil {
				return payload, i, err
			}
			continue
		}
		if err := d.control(in[i]); err != nil {
			return payload, i, err
		}
		i++
	}
	return payload, i, nil
}

// extension skips a chunk extension up to its line end. Extensions are not
// interpreted; the length bound keeps an endless one from counting as progress.
func (d *Decoder) extension(in []byte) (consumed int, err error) {
	n := bytes.IndexByte(in, '\n')
	ends := n >= 0
	if !ends {
		n = len(in)
	}
	if d.lineLen += n; d.lineLen > maxTrailerBytes {
		return 0, ErrBadChunk
	}
	if n > 0 {
		d.extCR = in[n-1] == '\r'
	}
	if !ends {
		return n, nil
	}
	if !d.extCR {
		return 0, ErrBadChunk
	}
	d.beginChunk()
	return n + 1, nil
}

// control consumes one byte that is not payload.
func (d *Decoder) control(c byte) error {
	switch d.state {
	case chunkSize:
		return d.sizeByte(c)
	case chunkSizeL:
		if c != '\n' {
			return ErrBadChunk
		}
		d.beginChunk()
	case chunkDataR:
		if c != '\r' {
			return ErrBadChunk
		}
		d.state = chunkDataL
	case chunkDataL:
		if c != '\n' {
			return ErrBadChunk
		}
		d.state, d.left, d.digits = chunkSize, 0, 0
	case chunkTrail:
		return d.trailByte(c)
	case chunkExt, chunkData, chunkDone:
	}
	return nil
}

func (d *Decoder) sizeByte(c byte) error {
	v := hexValue(c)
	if v >= 0 {
		// 8 digits are 4 GiB: no engine frames more in one chunk.
		if d.digits++; d.digits > 8 {
			return ErrBadChunk
		}
		d.left = d.left<<4 | int64(v)
		return nil
	}
	if d.digits == 0 {
		return ErrBadChunk
	}
	switch c {
	case '\r':
		d.state = chunkSizeL
	case ';', ' ', '\t':
		d.state, d.lineLen, d.extCR = chunkExt, 0, false
	default:
		return ErrBadChunk
	}
	return nil
}

// beginChunk acts on a complete size line.
func (d *Decoder) beginChunk() {
	if d.left > 0 {
		d.state = chunkData
		return
	}
	d.state, d.lineLen = chunkTrail, 0
}

// trailByte skips trailer fields up to the empty line. Trailers are dropped:
// nothing that arrives after the body may change what was said before it.
func (d *Decoder) trailByte(c byte) error {
	if d.trailer++; d.trailer > maxTrailerBytes {
		return ErrBadChunk
	}
	switch c {
	case '\n':
		if d.lineLen == 0 {
			d.state, d.done = chunkDone, true
		}
		d.lineLen = 0
	case '\r':
	default:
		d.lineLen++
	}
	return nil
}

func hexValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
