package proxy

import (
	"bytes"

	"github.com/valyala/fasthttp"
)

// framingFault names what is wrong with a request head, as metrics show it.
type framingFault string

const (
	faultNone        framingFault = ""
	faultLengthAndTE framingFault = "length_and_transfer_encoding"
	faultTE          framingFault = "transfer_encoding"
	faultLineFold    framingFault = "folded_or_bare_line"
	faultName        framingFault = "field_name"
	faultTarget      framingFault = "target"
	faultVersion     framingFault = "version"
	faultTrailer     framingFault = "trailer"
	faultFields      framingFault = "too_many_fields"
	faultHost        framingFault = "host"
)

// checkFraming refuses what fasthttp accepts but another hop might read
// differently (reliability.md section 1: each case was accepted there). It
// looks at the bytes as they arrived, and notes in facts what later steps need.
func checkFraming(h *fasthttp.RequestHeader, maxFields int, facts *headFacts) framingFault {
	*facts = headFacts{}
	if string(h.Method()) == "CONNECT" {
		return faultTarget // a tunnel, not a request for a path
	}
	if f := checkTarget(h.RequestURI()); f != faultNone {
		return f
	}
	if p := h.Protocol(); string(p) != "HTTP/1.1" && string(p) != "HTTP/1.0" {
		return faultVersion
	}
	// fasthttp merges the fields of a trailer section into the head: a key or
	// an id could be set after the body.
	for range h.Trailers() {
		return faultTrailer
	}
	return checkFields(h.RawHeaders(), maxFields, facts)
}

// headFacts is what one walk over the field lines finds besides faults.
type headFacts struct {
	upgrade     bool // an Upgrade field that Connection names
	expectOther bool // an expectation other than 100-continue
	hasUpgrade  bool
	expects     int
	nominated   [maxNominated][]byte // names listed in Connection fields
	count       int
}

// maxNominated is more than anybody lists; a request with more is refused.
const maxNominated = 8

// nominates reports whether Connection names the field, which then ends at this
// hop (RFC 9110 section 7.6.1). lower is in lower case.
func (f *headFacts) nominates(lower []byte) bool {
	for _, n := range f.nominated[:f.count] {
		if isName(n, string(lower)) {
			return true
		}
	}
	return false
}

// connection notes the names in one Connection field.
func (f *headFacts) connection(value []byte) framingFault {
	for len(value) > 0 {
		item := value
		if i := bytes.IndexByte(value, ','); i >= 0 {
			item, value = value[:i], value[i+1:]
		} else {
			value = nil
		}
		item = bytes.TrimSpace(item)
		if len(item) == 0 || isName(item, "close") || isName(item, "keep-alive") {
			continue
		}
		if f.count == maxNominated || !isToken(item) {
			return faultName
		}
		f.nominated[f.count] = item
		f.count++
		f.upgrade = f.upgrade || isName(item, "upgrade")
	}
	return faultNone
}

// checkTarget accepts origin form only, and no escapes that change the path.
func checkTarget(uri []byte) framingFault {
	if len(uri) == 0 || uri[0] != '/' || len(uri) > 1 && uri[1] == '/' {
		return faultTarget
	}
	path, _, _ := bytes.Cut(uri, []byte{'?'})
	if !plainPath(path) {
		return faultTarget
	}
	for _, c := range uri[len(path):] {
		if c <= ' ' || c >= 0x7f || c == '#' {
			return faultTarget
		}
	}
	return faultNone
}

// plainPath refuses control bytes, dot segments, empty segments and the escapes
// that spell a separator, a dot or a control byte: with any of them two hops
// can disagree about which path this is.
func plainPath(path []byte) bool {
	segment := 0 // start of the current segment, after its slash
	for i := 0; i <= len(path); i++ {
		if i == len(path) || path[i] == '/' {
			s := path[segment:i]
			if i > 0 && i < len(path) && len(s) == 0 || string(s) == "." || string(s) == ".." {
				return false
			}
			segment = i + 1
			continue
		}
		switch c := path[i]; {
		case c <= ' ' || c >= 0x7f || c == '\\' || c == '#':
			return false
		case c == '%' && !plainEscape(path[i:]):
			return false
		}
	}
	return true
}

func plainEscape(b []byte) bool {
	if len(b) < 3 {
		return false
	}
	hi, lo := unhex(b[1]), unhex(b[2])
	if hi < 0 || lo < 0 {
		return false
	}
	c := byte(hi<<4 | lo)
	return c > ' ' && c < 0x7f && c != '/' && c != '\\' && c != '.' && c != '%'
}

func unhex(c byte) int {
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

// fieldCounts counts the fields that decide where a request ends and whom it is
// for.
type fieldCounts struct{ fields, lengths, encodings, hosts int }

// checkFields walks the raw field lines.
func checkFields(raw []byte, maxFields int, facts *headFacts) framingFault {
	var n fieldCounts
	for len(raw) > 0 {
		nl := bytes.IndexByte(raw, '\n')
		if nl <= 0 || raw[nl-1] != '\r' {
			return faultLineFold
		}
		line := raw[:nl-1]
		raw = raw[nl+1:]
		if len(line) == 0 {
			break
		}
		if n.fields++; n.fields > maxFields {
			return faultFields
		}
		if f := n.line(line, facts); f != faultNone {
			return f
		}
	}
	facts.upgrade = facts.upgrade && facts.hasUpgrade
	facts.expectOther = facts.expectOther || facts.expects > 1
	switch {
	case n.lengths > 0 && n.encodings > 0:
		return faultLengthAndTE
	case n.encodings > 1:
		return faultTE
	case n.hosts > 1:
		return faultHost
	}
	return faultNone
}

func (n *fieldCounts) line(line []byte, facts *headFacts) framingFault {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 || !isToken(line[:colon]) {
		if line[0] == ' ' || line[0] == '\t' {
			return faultLineFold
		}
		return faultName
	}
	name, value := line[:colon], bytes.TrimSpace(line[colon+1:])
	switch len(name) {
	case 4:
		if isName(name, "host") {
			n.hosts++
			if !validHost(value) {
				return faultHost
			}
		}
	case 6:
		if isName(name, "expect") {
			facts.expects++
			facts.expectOther = facts.expectOther || !isName(value, "100-continue")
		}
	case 7:
		facts.hasUpgrade = facts.hasUpgrade || isName(name, "upgrade")
		if isName(name, "trailer") {
			return faultTrailer
		}
	case 10:
		if isName(name, "connection") {
			return facts.connection(value)
		}
	case 14:
		if isName(name, "content-length") {
			n.lengths++
		}
	case 17:
		if isName(name, "transfer-encoding") {
			n.encodings++
			if !isName(value, "chunked") {
				return faultTE
			}
		}
	}
	return faultNone
}

// validHost accepts a host with an optional port and nothing that a URL parser
// could take for something else.
func validHost(v []byte) bool {
	for _, c := range v {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '.', c == '-', c == '_', c == ':', c == '[', c == ']':
		default:
			return false
		}
	}
	return len(v) > 0
}

// isName compares with a lower-case ASCII name.
func isName(b []byte, lower string) bool {
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

// isToken reports whether b is a token of RFC 9110 section 5.6.2.
func isToken(b []byte) bool {
	for _, c := range b {
		if !tokenBytes[c] {
			return false
		}
	}
	return len(b) > 0
}

var tokenBytes = func() (t [256]bool) {
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
