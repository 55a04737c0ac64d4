//go:build linux

package faults

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Chat is a request for an answer of exactly tokens tokens.
type Chat struct {
	Prompt  string
	Tokens  int
	Stream  bool
	Headers []string // "Name: value"
}

// Body is the request's JSON.
func (c *Chat) Body() string {
	prompt := c.Prompt
	if prompt == "" {
		prompt = "Where does the water go?"
	}
	text, err := json.Marshal(prompt)
	if err != nil {
		panic(fmt.Sprintf("BUG: cannot encode a string: %v", err))
	}
	return fmt.Sprintf(`{"model":%q,"stream":%t,"max_tokens":%d,"ignore_eos":true,"messages":[{"role":"user","content":%s}]}`,
		Model, c.Stream, max(1, c.Tokens), text)
}

// Raw is the whole request as it goes over the wire.
func (c *Chat) Raw() string {
	return RawPost("/v1/chat/completions", c.Body(), c.Headers...)
}

// RawPost is a JSON request as it goes over the wire.
func RawPost(path, body string, headers ...string) string {
	var b strings.Builder
	b.WriteString("POST " + path + " HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n")
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	b.WriteString("Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
	return b.String()
}

// Client is one connection to a gateway. Every read and write on it ends by
// patience, so that a hang is a failure and not a hang of the test.
type Client struct {
	Conn *net.TCPConn
	wire net.Conn // Conn, or TLS on it
	in   *bufio.Reader
}

// Patience is how long a client waits for what must happen "at once". It tells
// that from "never" on a loaded machine and is no measure of speed.
const Patience = 20 * time.Second

// Dial connects to host:port.
func Dial(ctx context.Context, address string) (*Client, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot connect: %w", err)
	}
	return NewClient(c.(*net.TCPConn))
}

// NewClient speaks over c, which it owns from here on.
func NewClient(c *net.TCPConn) (*Client, error) {
	if err := c.SetDeadline(time.Now().Add(Patience)); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot set a deadline: %w", err), c.Close())
	}
	return &Client{Conn: c, wire: c, in: bufio.NewReader(c)}, nil
}

// Secure goes over to TLS. Close and Reset then end the connection without
// TLS's own farewell, as a process that is killed does.
func (c *Client) Secure(ctx context.Context, config *tls.Config) error {
	secure := tls.Client(c.Conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("cannot complete the handshake: %w", err)
	}
	c.wire, c.in = secure, bufio.NewReader(secure)
	return nil
}

// Close ends the connection in good form.
func (c *Client) Close() error { return c.Conn.Close() }

// Reset ends the connection with a TCP reset.
func (c *Client) Reset() error {
	if err := c.Conn.SetLinger(0); err != nil {
		return fmt.Errorf("cannot arm a reset: %w", err)
	}
	return c.Conn.Close()
}

// Send writes raw bytes.
func (c *Client) Send(raw string) error {
	if err := c.Conn.SetDeadline(time.Now().Add(Patience)); err != nil {
		return fmt.Errorf("cannot set a deadline: %w", err)
	}
	if _, err := io.WriteString(c.wire, raw); err != nil {
		return fmt.Errorf("cannot send: %w", err)
	}
	return nil
}

// Receive reads the head of the answer.
func (c *Client) Receive() (*Answer, error) {
	if err := c.Conn.SetDeadline(time.Now().Add(Patience)); err != nil {
		return nil, fmt.Errorf("cannot set a deadline: %w", err)
	}
	resp, err := http.ReadResponse(c.in, nil) //nolint:bodyclose // nothing is pooled; the connection is the owner
	if err != nil {
		return nil, fmt.Errorf("cannot read an answer: %w", err)
	}
	return &Answer{Response: resp, client: c, lines: bufio.NewReader(resp.Body)}, nil
}

// Do sends raw and reads the whole answer.
func (c *Client) Do(raw string) (*Answer, error) {
	if err := c.Send(raw); err != nil {
		return nil, err
	}
	a, err := c.Receive()
	if err != nil {
		return nil, err
	}
	a.Rest()
	return a, nil
}

// Ask sends raw over a connection of its own and reads the whole answer.
func Ask(ctx context.Context, address, raw string) (*Answer, error) {
	c, err := Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Do(raw)
}

// Answer is what came back, and how it ended. Text and its companions are
// filled by Event and Rest.
type Answer struct {
	*http.Response
	Body   []byte // payload read so far
	Events int    // events with data
	Text   string // content of all events, or of the JSON answer
	Finish string // finish reason
	Done   bool   // [DONE] came
	Failed string // message of an error event or body
	Clean  bool   // the framing of HTTP said that the message is whole
	Cut    error  // why it is not

	client *Client
	lines  *bufio.Reader
}

// Stream reports whether this is an event stream.
func (a *Answer) Stream() bool {
	return strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream")
}

// Complete reports whether a client would take this for a whole answer: it
// ended in good form and nothing in it said otherwise. Clients of event
// streams stop at [DONE] without looking at how the connection ends, and those
// that do not know [DONE] go by the connection alone, so either is enough.
func (a *Answer) Complete() bool {
	if a.Failed != "" || a.StatusCode != http.StatusOK {
		return false
	}
	if a.Stream() {
		return a.Done || a.Clean
	}
	return a.Clean
}

// Event reads up to the end of the next event with data. The error is io.EOF
// when the answer has ended, in whatever way.
func (a *Answer) Event() error {
	for {
		if err := a.client.Conn.SetReadDeadline(time.Now().Add(Patience)); err != nil {
			return fmt.Errorf("cannot set a deadline: %w", err)
		}
		line, err := a.lines.ReadBytes('\n')
		a.Body = append(a.Body, line...)
		if err != nil {
			a.end(err)
			return io.EOF
		}
		data, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("data:"))
		if !ok {
			continue
		}
		a.Events++
		a.read(bytes.TrimSpace(data))
		return nil
	}
}

func (a *Answer) end(err error) {
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		a.Clean = true
		return
	}
	a.Cut = err
}

// Rest reads the answer to its end.
func (a *Answer) Rest() {
	if a.Stream() {
		for a.Event() == nil {
		}
		return
	}
	rest, err := io.ReadAll(a.lines)
	a.Body = append(a.Body, rest...)
	if err == nil {
		err = io.EOF
	}
	a.end(err)
	a.read(a.Body)
}

// read takes in one event's data or a JSON answer.
func (a *Answer) read(data []byte) {
	if string(data) == "[DONE]" {
		a.Done = true
		return
	}
	var m struct {
		Type    string `json:"type"`
		Choices []struct {
			Finish string `json:"finish_reason"`
		} `json:"choices"`
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(data, &m) != nil {
		return
	}
	a.Text += outputs(data)
	if len(m.Error) > 0 && string(m.Error) != "null" {
		a.Failed = string(m.Error)
	}
	switch m.Type {
	case "error", "response.failed":
		a.Failed = string(data)
	case "message_stop", "response.completed", "response.incomplete":
		a.Done = true
	}
	for _, c := range m.Choices {
		if c.Finish != "" {
			a.Finish = c.Finish
		}
	}
}

// outputs joins the strings in which the APIs carry output: members called
// content, text or delta, at any depth, in their order.
func outputs(data []byte) string {
	var out strings.Builder
	dec := json.NewDecoder(bytes.NewReader(data))
	var value func(key string) error
	value = func(key string) error {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		switch v := token.(type) {
		case json.Delim:
			for name := ""; dec.More(); {
				if v == '{' {
					t, err := dec.Token()
					if err != nil {
						return err
					}
					name, _ = t.(string)
				}
				if err := value(name); err != nil {
					return err
				}
			}
			_, err = dec.Token() // the end of it
			return err
		case string:
			if key == "content" || key == "text" || key == "delta" {
				out.WriteString(v)
			}
		}
		return nil
	}
	_ = value("") // what was read until then is what counts
	return out.String()
}

// String tells how the answer ended, for failed tests.
func (a *Answer) String() string {
	tail := a.Body
	if len(tail) > 200 {
		tail = tail[len(tail)-200:]
	}
	return fmt.Sprintf("status %d, %d events, %d bytes of text, finish %q, done %t, clean %t, cut %v, failed %s, tail %q",
		a.StatusCode, a.Events, len(a.Text), a.Finish, a.Done, a.Clean, a.Cut, a.Failed, tail)
}
