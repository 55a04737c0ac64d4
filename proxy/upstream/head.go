package upstream

import (
	"bytes"
	"errors"
)

// Limits of a response head. The engines send under 1 KiB and a dozen fields.
const (
	maxHeadBytes  = 64 << 10
	maxHeadFields = 128
)

// Errors of the response head; each means that the engine's bytes cannot be
// trusted and the connection must not be used again.
var (
	ErrMalformedHead = errors.New("upstream: malformed response head")
	ErrHeadTooLarge  = errors.New("upstream: response head too large")
	ErrBadFraming    = errors.New("upstream: ambiguous response framing")
)

// Framing of a body, as values of Head.Length below zero.
const (
	LengthChunked = -1 // Transfer-Encoding: chunked
	LengthClose   = -2 // ends when the connection closes
)

// Field is one header field; both slices alias the connection's buffer.
type Field struct {
	Name, Value []byte
}

// Head is a parsed response head. Its slices are valid until the call ends.
type Head struct {
	Status      int
	Fields      []Field // end-to-end fields only, in order; framing and hop-by-hop are taken out
	ContentType []byte
	RetryAfter  []byte
	Date        []byte // in Fields as well
	Length      int64  // >= 0, LengthChunked or LengthClose
	KeepAlive   bool
}

// parseHead parses a response head at the start of buf. n is 0 while the head
// is incomplete. Interim (1xx) answers are the caller's to skip.
func parseHead(buf []byte, h *Head) (n int, err error) {
	end := bytes.Index(buf, crlfcrlf)
	if end < 0 {
		if len(buf) >= maxHeadBytes {
			return 0, ErrHeadTooLarge
		}
		return 0, nil
	}
	if end > maxHeadBytes {
		return 0, ErrHeadTooLarge
	}
	h.reset()
	rest := buf[:end+2]
	line, rest := cutLine(rest)
	http11, ok := h.parseStatusLine(line)
	if !ok {
		return 0, ErrMalformedHead
	}
	h.KeepAlive = http11
	p := headParser{h: h, http11: http11}
	for len(rest) > 0 {
		line, rest = cutLine(rest)
		if err := p.field(line); err != nil {
			return 0, err
		}
	}
	if err := p.finish(); err != nil {
		return 0, err
	}
	return end + 4, nil
}

var (
	crlf     = []byte("\r\n")
	crlfcrlf = []byte("\r\n\r\n")
)

// cutLine splits at the first CRLF; the input always ends with one.
func cutLine(b []byte) (line, rest []byte) {
	i := bytes.Index(b, crlf)
	return b[:i], b[i+2:]
}

func (h *Head) reset() {
	h.Status, h.Length, h.KeepAlive = 0, LengthClose, false
	h.ContentType, h.RetryAfter, h.Date = nil, nil, nil
	h.Fields = h.Fields[:0]
}

// parseStatusLine accepts "HTTP/1.x NNN ..." and nothing else.
func (h *Head) parseStatusLine(line []byte) (http11, ok bool) {
	if len(line) < 12 || string(line[:7]) != "HTTP/1." || line[8] != ' ' {
		return false, false
	}
	if line[7] != '0' && line[7] != '1' {
		return false, false
	}
	status := 0
	for _, c := range line[9:12] {
		if c < '0' || c > '9' {
			return false, false
		}
		status = status*10 + int(c-'0')
	}
	if status < 100 || len(line) > 12 && (line[12] != ' ' || !isFieldValue(line[12:])) {
		return false, false
	}
	h.Status = status
	return line[7] == '1', true
}

// headParser collects what decides the framing over all fields.
type headParser struct {
	h          *Head
	http11     bool
	haveLength bool
	chunked    bool
	length     int64
	nominated  [8][]byte // names listed in Connection
	nominatedN int
}

func (p *headParser) field(line []byte) error {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 || len(p.h.Fields) >= maxHeadFields {
		return ErrMalformedHead
	}
	name, value := line[:colon], trimSpace(line[colon+1:])
	if !isToken(name) || !isFieldValue(value) {
		return ErrMalformedHead
	}
	switch len(name) {
	case 4:
		if equalFold(name, "date") {
			p.h.Date = value
		}
	case 10:
		if equalFold(name, "connection") {
			return p.connection(value)
		}
		if equalFold(name, "keep-alive") {
			return nil
		}
	case 11:
		if equalFold(name, "retry-after") {
			p.h.RetryAfter = value
		}
	case 12:
		if equalFold(name, "content-type") {
			p.h.ContentType = value
			return nil
		}
	case 14:
		if equalFold(name, "content-length") {
			return p.contentLength(value)
		}
	case 17:
		if equalFold(name, "transfer-encoding") {
			return p.transferEncoding(value)
		}
	}
	if hopByHop(name) {
		return nil
	}
	p.h.Fields = append(p.h.Fields, Field{Name: name, Value: value})
	return nil
}

func (p *headParser) contentLength(value []byte) error {
	n, ok := parseDecimal(value)
	if !ok || p.haveLength && n != p.length {
		return ErrBadFraming
	}
	p.haveLength, p.length = true, n
	return nil
}

func (p *headParser) transferEncoding(value []byte) error {
	if p.chunked || !equalFold(value, "chunked") {
		return ErrBadFraming
	}
	p.chunked = true
	return nil
}

func (p *headParser) connection(value []byte) error {
	for len(value) > 0 {
		var item []byte
		if i := bytes.IndexByte(value, ','); i >= 0 {
			item, value = trimSpace(value[:i]), value[i+1:]
		} else {
			item, value = trimSpace(value), nil
		}
		switch {
		case equalFold(item, "close"):
			p.h.KeepAlive = false
		case equalFold(item, "keep-alive"):
			p.h.KeepAlive = true
		case len(item) > 0:
			if p.nominatedN == len(p.nominated) {
				return ErrMalformedHead
			}
			p.nominated[p.nominatedN] = item
			p.nominatedN++
		}
	}
	return nil
}

// finish settles the framing (RFC 9112 section 6.3) and removes the fields
// that Connection names.
func (p *headParser) finish() error {
	h := p.h
	for _, name := range p.nominated[:p.nominatedN] {
		h.drop(name)
	}
	switch {
	case p.chunked && p.haveLength:
		return ErrBadFraming
	case h.Status < 200 || h.Status == 204 || h.Status == 304:
		h.Length = 0
	case p.chunked:
		if !p.http11 {
			return ErrBadFraming
		}
		h.Length = LengthChunked
	case p.haveLength:
		h.Length = p.length
	default:
		h.Length, h.KeepAlive = LengthClose, false
	}
	return nil
}

func (h *Head) drop(name []byte) {
	kept := h.Fields[:0]
	for _, f := range h.Fields {
		if !bytes.EqualFold(f.Name, name) {
			kept = append(kept, f)
		}
	}
	h.Fields = kept
}

// hopByHop names the fields that end at this hop whether or not Connection
// lists them (RFC 9110 section 7.6.1).
func hopByHop(name []byte) bool {
	switch len(name) {
	case 2:
		return equalFold(name, "te")
	case 7:
		return equalFold(name, "trailer") || equalFold(name, "upgrade")
	case 16:
		return equalFold(name, "proxy-connection")
	case 18:
		return equalFold(name, "proxy-authenticate")
	case 19:
		return equalFold(name, "proxy-authorization")
	}
	return false
}

// equalFold compares with a lower-case ASCII name.
func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i := range len(b) {
		c := b[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

func trimSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

func isToken(b []byte) bool {
	for _, c := range b {
		if !tokenChars[c] {
			return false
		}
	}
	return len(b) > 0
}

// isFieldValue refuses control characters, a bare CR or LF among them.
func isFieldValue(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

func parseDecimal(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// tokenChars marks the tchar set of RFC 9110 section 5.6.2.
var tokenChars = func() (t [256]bool) {
	for c := '0'; c <= '9'; c++ {
		t[c] = true
	}
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-0x20] = true, true
	}
	for _, c := range "!#$%&'*+-.^_`|~" {
		t[c] = true
	}
	return t
}()
