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
// looks at the bytes as they arrived.
func checkFraming(h *fasthttp.RequestHeader, maxFields int) framingFault {
	if f := checkTarget(h.RequestURI()); f != faultNone {
		return f
	}
	if p := h.Protocol(); string(p) != "HTTP/1.1" && string(p) != "HTTP/1.0" {
		return faultVersion
	}
	return checkFields(h.RawHeaders(), maxFields)
}

// checkTarget accepts origin form only, and no escapes that change the path.
func checkTarget(uri []byte) framingFault {
	if len(uri) == 0 || uri[0] != '/' || len(uri) > 1 && uri[1] == '/' {
		return faultTarget
	}
	path := uri
	if i := bytes.IndexByte(uri, '?'); i >= 0 {
		path = uri[:i]
	}
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

// checkFields walks the raw field lines.
func checkFields(raw []byte, maxFields int) framingFault {
	var fields, lengths, encodings, hosts int
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
		if fields++; fields > maxFields {
			return faultFields
		}
		colon := bytes.IndexByte(line, ':')
		if colon <= 0 || !isToken(line[:colon]) {
			if line[0] == ' ' || line[0] == '\t' {
				return faultLineFold
			}
			return faultName
		}
		name, value := line[:colon], bytes.TrimSpace(line[colon+1:])
		switch {
		case isName(name, "content-length"):
			lengths++
		case isName(name, "transfer-encoding"):
			encodings++
			if !isName(value, "chunked") {
				return faultTE
			}
		case isName(name, "trailer"):
			return faultTrailer
		case isName(name, "host"):
			hosts++
			if !validHost(value) {
				return faultHost
			}
		}
	}
	switch {
	case lengths > 0 && encodings > 0:
		return faultLengthAndTE
	case encodings > 1:
		return faultTE
	case hosts > 1:
		return faultHost
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
