package framing

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ErrMalformed is a request that is not beyond doubt: RFC 9112 forbids it, or
// servers are known to disagree about it.
var ErrMalformed = errors.New("framing: malformed request")

// maxLine and maxBody bound what the strict reader holds.
const (
	maxLine = 1 << 20
	maxBody = 64 << 20
)

// Field is one header field, its name as it was written.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Request is one request as the strict reader understood it.
type Request struct {
	Method  string  `json:"method"`
	Target  string  `json:"target"`
	Version string  `json:"version"` // "HTTP/1.1" or "HTTP/1.0"
	Fields  []Field `json:"fields"`
	Body    string  `json:"body"`
}

// Values returns the values of a field in order; the name's case is ignored.
func (q *Request) Values(name string) []string {
	var values []string
	for _, f := range q.Fields {
		if strings.EqualFold(f.Name, name) {
			values = append(values, f.Value)
		}
	}
	return values
}

// Persistent reports whether another request may follow on the connection.
func (q *Request) Persistent() bool {
	options := strings.ToLower(strings.Join(q.Values("Connection"), ","))
	keep := q.Version == "HTTP/1.1"
	for option := range strings.SplitSeq(options, ",") {
		switch strings.Trim(option, " \t") {
		case "close":
			return false
		case "keep-alive":
			keep = true
		}
	}
	return keep
}

// ReadRequest reads one request by the letter. It returns io.EOF where no
// request begins, io.ErrUnexpectedEOF where one is cut, and ErrMalformed,
// wrapped with the reason, for everything else.
func ReadRequest(r *bufio.Reader) (*Request, error) {
	line, err := firstLine(r)
	if err != nil {
		return nil, err
	}
	q := new(Request)
	if err := q.readStart(line); err != nil {
		return nil, err
	}
	if err := q.readFields(r); err != nil {
		return nil, inside(err)
	}
	if err := q.readBody(r); err != nil {
		return nil, inside(err)
	}
	return q, nil
}

// firstLine skips the empty lines that RFC 9112 section 2.2 lets a client send
// before a request. Alone there a bare LF is one too: servers skip it or refuse
// the connection, and for neither does the request begin elsewhere.
func firstLine(r *bufio.Reader) (string, error) {
	for {
		next, err := r.Peek(1)
		if err != nil {
			return "", err
		}
		if next[0] == '\n' {
			_, _ = r.Discard(1) // it was peeked at
			continue
		}
		line, err := readLine(r)
		if err != nil {
			return "", inside(err)
		}
		if line != "" {
			return line, nil
		}
	}
}

// inside turns the end of input into an error: a request had begun.
func inside(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// readLine reads up to CR LF, which are not returned. A CR or LF alone is
// malformed wherever it stands.
func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		c, err := r.ReadByte()
		if err != nil {
			return "", err
		}
		switch {
		case c == '\n':
			return "", malformed("bare LF")
		case c == '\r':
			c, err = r.ReadByte()
			if err != nil {
				return "", err
			}
			if c != '\n' {
				return "", malformed("bare CR")
			}
			return string(line), nil
		case len(line) == maxLine:
			return "", malformed("line too long")
		}
		line = append(line, c)
	}
}

func (q *Request) readStart(line string) error {
	parts := strings.Split(line, " ")
	if len(parts) != 3 {
		return malformed("request line %.80q", line)
	}
	q.Method, q.Target, q.Version = parts[0], parts[1], parts[2]
	switch {
	case !token(q.Method):
		return malformed("method %.80q", q.Method)
	case q.Version != "HTTP/1.1" && q.Version != "HTTP/1.0":
		return malformed("version %.80q", q.Version)
	case !originForm(q.Target):
		return malformed("target %.80q", q.Target)
	}
	return nil
}

// originForm accepts a path with an optional query: the other forms name a host
// a second time, and "//" at the start reads as one.
func originForm(target string) bool {
	if !strings.HasPrefix(target, "/") || strings.HasPrefix(target, "//") {
		return false
	}
	for _, c := range []byte(target) {
		if c <= ' ' || c >= 0x7f || c == '#' {
			return false
		}
	}
	return true
}

func (q *Request) readFields(r *bufio.Reader) error {
	for {
		line, err := readLine(r)
		if err != nil {
			return err
		}
		if line == "" {
			return q.checkHost()
		}
		name, value, found := strings.Cut(line, ":")
		if !found || !token(name) {
			return malformed("field line %.80q", line)
		}
		value = strings.Trim(value, " \t")
		if !fieldValue(value) {
			return malformed("value of %q", name)
		}
		q.Fields = append(q.Fields, Field{Name: name, Value: value})
	}
}

func (q *Request) checkHost() error {
	hosts := q.Values("Host")
	if len(hosts) > 1 || len(hosts) == 0 && q.Version == "HTTP/1.1" {
		return malformed("%d Host fields", len(hosts))
	}
	return nil
}

func (q *Request) readBody(r *bufio.Reader) error {
	lengths, codings := q.Values("Content-Length"), q.Values("Transfer-Encoding")
	switch {
	case len(codings) > 0 && len(lengths) > 0:
		return malformed("Content-Length with Transfer-Encoding")
	case len(codings) > 0:
		if len(codings) > 1 || !strings.EqualFold(codings[0], "chunked") || q.Version == "HTTP/1.0" {
			return malformed("Transfer-Encoding %.80q", codings)
		}
		return q.readChunks(r)
	case len(lengths) > 0:
		n, ok := number(lengths[0], 10)
		if len(lengths) > 1 || !ok {
			return malformed("Content-Length %.80q", lengths)
		}
		return q.take(r, n)
	}
	return nil
}

// readChunks reads a chunked body. Trailers are malformed here: merging them
// into the head is what attacks with them rely on.
func (q *Request) readChunks(r *bufio.Reader) error {
	for {
		line, err := readLine(r)
		if err != nil {
			return err
		}
		size, extension, _ := strings.Cut(line, ";")
		n, ok := number(size, 16)
		if !ok || !fieldValue(extension) {
			return malformed("chunk size %.80q", line)
		}
		if err := q.take(r, n); err != nil {
			return err
		}
		end, err := readLine(r)
		if err != nil {
			return err
		}
		if end != "" {
			return malformed("%.80q after a chunk", end)
		}
		if n == 0 {
			return nil
		}
	}
}

func (q *Request) take(r *bufio.Reader, n int64) error {
	if int64(len(q.Body))+n > maxBody {
		return malformed("body too large")
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	q.Body += string(b)
	return nil
}

// number reads digits alone: no sign, prefix, separator or space, and not so
// many that any integer type overflows.
func number(s string, base int) (int64, bool) {
	if s == "" || len(s) > 15 {
		return 0, false
	}
	for _, c := range []byte(s) {
		digit := '0' <= c && c <= '9'
		hex := 'a' <= c|0x20 && c|0x20 <= 'f'
		if !digit && (base != 16 || !hex) {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, base, 64)
	return n, err == nil
}

// token is RFC 9110 section 5.6.2.
func token(s string) bool {
	for _, c := range []byte(s) {
		alnum := '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
		if !alnum && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// fieldValue accepts visible bytes, obs-text, spaces and tabs.
func fieldValue(s string) bool {
	for _, c := range []byte(s) {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// ReadAll reads the requests of one connection's bytes until the end, the first
// that is not right, or the last that the connection may carry. The error is
// nil when every byte belonged to a request or could not count any more.
func ReadAll(input string) ([]Request, error) {
	r := bufio.NewReader(strings.NewReader(input))
	var all []Request
	for {
		q, err := ReadRequest(r)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, *q)
		if !q.Persistent() {
			return all, nil
		}
	}
}
