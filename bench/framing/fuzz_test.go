package framing

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"penstock/configs"
)

// maxFuzzInput keeps an execution short; nothing about framing needs more.
const maxFuzzInput = 8 << 10

func addCorpus(f *testing.F) {
	f.Helper()
	for _, c := range corpus(f) {
		if raw := c.Raw(); len(raw) <= maxFuzzInput {
			f.Add([]byte(raw))
		}
	}
}

// Whatever a client sends: the backend gets requests that the strict reader
// finds in the client's bytes, in that order, with their bodies and fields, and
// nothing else.
func FuzzGatewayForwardsOnlyWhatWasSent(f *testing.F) {
	addCorpus(f)
	backend, err := StartBackend()
	if err != nil {
		f.Fatal(err)
	}
	// The client of an execution closes its direction at once, so that the end
	// needs no waiting; the gateway must answer it nevertheless.
	gateway, err := StartPenstock(backend.Addr(), func(c *configs.Config) { c.Listen.HalfCloseIsGone = false })
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := gateway.Stop(); err != nil {
			f.Error(err)
		}
		backend.Close()
	})
	var executions atomic.Int64
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > maxFuzzInput {
			t.Skip("too long")
		}
		id := fmt.Sprintf("victim-%d", executions.Add(1))
		if err := gateway.Target().exchange(raw); err != nil {
			t.Fatal(err)
		}
		if err := gateway.Target().Victim(id); err != nil {
			t.Error(err)
		}
		batch := backend.Take()
		if batch.Malformed+batch.Cut > 0 {
			t.Errorf("%d malformed and %d cut connections at the backend", batch.Malformed, batch.Cut)
		}
		sent, err := ReadAll(string(raw))
		batch.Requests = slices.DeleteFunc(batch.Requests, func(q Request) bool { return slices.Contains(q.Values("X-Request-Id"), id) })
		for i := range batch.Requests {
			q := &batch.Requests[i]
			n := slices.IndexFunc(sent, func(s Request) bool { return sameRequest(&s, q) })
			if n < 0 && i == len(batch.Requests)-1 && errors.Is(err, ErrMalformed) {
				// One request in a form that the HTTP library takes and the
				// letter does not (the corpus lists them); never a second one.
				return
			}
			if n < 0 {
				t.Fatalf("the backend got %s %q %q, which the client did not send (strict reader: %v)", q.Method, q.Target, q.Body, err)
			}
			for _, field := range invented(&sent[n], q) {
				t.Errorf("the backend got field %q with %q, which the client did not send", field.Name, field.Value)
			}
			sent = sent[n+1:]
		}
	})
}

// exchange sends bytes, closes the client's direction and waits for the end.
func (t Target) exchange(raw []byte) error {
	conn, err := t.dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	_, _ = conn.Write(raw) // the gateway may have refused and closed
	p := player{conn: conn}
	p.closeWrite()
	_, err = io.Copy(io.Discard, conn)
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("the gateway left the connection open: %w", err)
	}
	return nil // a reset is an end too
}

func sameRequest(sent, got *Request) bool {
	return sent.Method == got.Method && sent.Target == got.Target && sent.Body == got.Body
}

// invented lists the fields of got that are neither the gateway's own nor in
// the same field of sent.
func invented(sent, got *Request) []Field {
	var list []Field
	for _, f := range got.Fields {
		switch strings.ToLower(f.Name) {
		case "host", "accept-encoding", "content-length":
			continue
		case "x-request-id":
			if strings.HasPrefix(f.Value, "ps-") {
				continue
			}
		}
		if !slices.Contains(sent.Values(f.Name), f.Value) {
			list = append(list, f)
		}
	}
	return list
}

// What the strict reader accepts, net/http reads in the same way, and it is the
// same again after it was written out.
func FuzzReadRequest(f *testing.F) {
	addCorpus(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		q, err := ReadRequest(bufio.NewReader(strings.NewReader(string(raw))))
		if err != nil {
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("unexpected kind of error: %v", err)
			}
			return
		}
		again, err := ReadRequest(bufio.NewReader(strings.NewReader(write(q))))
		if err != nil || again.Body != q.Body || again.Target != q.Target || len(again.Fields) != len(q.Fields) {
			t.Errorf("%+v became %+v (%v)", q, again, err)
		}
		h, err := http.ReadRequest(bufio.NewReader(strings.NewReader(strings.TrimLeft(string(raw), "\r\n"))))
		if err != nil {
			return // its URL parser is stricter
		}
		body, err := io.ReadAll(h.Body)
		if err != nil || h.Method != q.Method || h.RequestURI != q.Target || string(body) != q.Body {
			t.Errorf("strict: %s %q %q; net/http: %s %q %q (%v)", q.Method, q.Target, q.Body, h.Method, h.RequestURI, body, err)
		}
	})
}

// write is the request with its body in one piece.
func write(q *Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s\r\n", q.Method, q.Target, q.Version)
	for _, f := range q.Fields {
		fmt.Fprintf(&b, "%s: %s\r\n", f.Name, f.Value)
	}
	b.WriteString("\r\n")
	if len(q.Values("Transfer-Encoding")) == 0 {
		b.WriteString(q.Body)
	} else {
		if q.Body != "" {
			fmt.Fprintf(&b, "%x\r\n%s\r\n", len(q.Body), q.Body)
		}
		b.WriteString("0\r\n\r\n")
	}
	return b.String()
}
