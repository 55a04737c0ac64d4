package framing

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// Answer is one response as the client read it.
type Answer struct {
	Status int
	Header http.Header
	Body   string
	Close  bool // the proxy said that it closes
}

// Outcome is what became of a connection.
type Outcome struct {
	Interim int // 1xx answers
	Answers []Answer
	// Closed: the proxy ended the connection before the client did.
	Closed bool
	// TimedOut: neither answers nor an end came within the limit.
	TimedOut bool
}

// Target is where a proxy listens.
type Target struct {
	Network, Address string
	Limit            time.Duration // for one connection, 0: 5s
}

const defaultLimit = 5 * time.Second

// Play sends a case and reads until the proxy closes. When as many answers as
// the case wants are there, and the last is no refusal, the client closes its
// direction: what then still comes was not asked for. extra follows the case's
// bytes at once.
func (t Target) Play(c *Case, extra string) (*Outcome, error) {
	conn, err := t.dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	p := &player{conn: conn, r: bufio.NewReader(conn), methods: methods(c)}
	for i, segment := range c.Segments {
		if i > 0 {
			p.next()
		}
		if i == len(c.Segments)-1 {
			segment += extra
		}
		// A proxy may have refused and closed already; its answer counts.
		_, _ = io.WriteString(conn, segment)
	}
	if c.Fin {
		p.closeWrite()
	}
	for p.next() {
		n := len(p.out.Answers)
		if n >= len(c.Want) && (!c.Ends() || p.out.Answers[n-1].Status < 400) {
			p.closeWrite()
		}
	}
	return &p.out, nil
}

func (t Target) dial() (net.Conn, error) {
	conn, err := net.Dial(t.Network, t.Address)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the proxy: %w", err)
	}
	limit := t.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// methods are those of the expected answers: the one to a HEAD has no body.
func methods(c *Case) []string {
	all := make([]string, 0, len(c.Sees))
	for _, s := range c.Sees {
		all = append(all, s.Method)
	}
	return all
}

// player reads the answers of one connection.
type player struct {
	conn    net.Conn
	r       *bufio.Reader
	methods []string
	fin     bool
	out     Outcome
}

func (p *player) closeWrite() {
	if c, ok := p.conn.(interface{ CloseWrite() error }); ok && !p.fin {
		_ = c.CloseWrite()
		p.fin = true
	}
}

// next reads one answer, an interim one included; false at the end.
func (p *player) next() bool {
	req := &http.Request{Method: http.MethodPost}
	if i := len(p.out.Answers); i < len(p.methods) {
		req.Method = p.methods[i]
	}
	resp, err := http.ReadResponse(p.r, req)
	if err != nil {
		p.end(err)
		return false
	}
	if resp.StatusCode < 200 {
		p.out.Interim++
		return true
	}
	body, err := io.ReadAll(resp.Body)
	err = errors.Join(err, resp.Body.Close())
	p.out.Answers = append(p.out.Answers, Answer{
		Status: resp.StatusCode, Header: resp.Header, Body: string(body), Close: resp.Close,
	})
	if err != nil {
		p.end(err)
		return false
	}
	return true
}

func (p *player) end(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		p.out.TimedOut = true
		return
	}
	p.out.Closed = !p.fin
}

// Victim sends an ordinary request of another client under the given id and
// fails unless exactly its own answer comes back: an answer meant for somebody
// else is what smuggling leads to.
func (t Target) Victim(id string) error {
	c := &Case{
		Segments: []string{Probe(id)}, Want: [][]int{{200}},
		Sees: []Seen{{Method: "POST", Target: ProbeTarget}},
	}
	out, err := t.Play(c, "")
	if err != nil {
		return err
	}
	if len(out.Answers) != 1 || out.Answers[0].Status != 200 {
		return fmt.Errorf("cannot use the proxy after the case: got %s", out)
	}
	var echo Echo
	if err := json.Unmarshal([]byte(out.Answers[0].Body), &echo); err != nil {
		return fmt.Errorf("cannot read the answer of the backend: %w", err)
	}
	if got := echo.Values("X-Request-Id"); len(got) != 1 || got[0] != id || echo.Target != ProbeTarget {
		return fmt.Errorf("request %q got the answer to %s %s %q", id, echo.Method, echo.Target, got)
	}
	return nil
}

// ProbeTarget is where probes go, so that they can be told from the cases.
const ProbeTarget = "/v1/completions"

// Probe is a request that no proxy minds.
func Probe(id string) string {
	const body = `{"model":"m","prompt":"p"}`
	return "POST " + ProbeTarget + " HTTP/1.1\r\nHost: gateway.test\r\nContent-Type: application/json\r\n" +
		"X-Request-Id: " + id + fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n", len(body)) + body
}

// String lists the statuses and how the connection ended.
func (o *Outcome) String() string {
	var parts []string
	for i := range o.Answers {
		parts = append(parts, fmt.Sprint(o.Answers[i].Status))
	}
	switch {
	case o.TimedOut:
		parts = append(parts, "left open")
	case o.Closed:
		parts = append(parts, "closed")
	}
	return strings.Join(parts, " ")
}
