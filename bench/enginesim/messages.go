package enginesim

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"penstock/bench/enginesim/core"
)

// serveMessages is the Anthropic API.
func serveMessages(x *exchange) error {
	q, err := x.begin()
	if err != nil {
		return err
	}
	if q.Messages == nil || q.MaxTokens == nil {
		return schemaError("messages", "messages and max_tokens: Field required")
	}
	id := x.info.RequestID
	if id == "" {
		id = x.s.newID()
	}
	x.info.ID = "chatcmpl-" + id // vLLM serves messages through its chat code
	if err := x.submit(q, [][]uint32{q.chatTokens()}); err != nil {
		return err
	}
	m := &message{x: x, model: q.Model}
	if q.Stream {
		return m.stream()
	}
	choices, u, err := x.collect()
	if err != nil {
		return err
	}
	c := &choices[0]
	x.status(http.StatusOK, m.body(nil, c.text, true, stopReason(c.finish, c.stopped), c.stopped, u))
	return nil
}

func serveCountTokens(x *exchange) error {
	q, err := x.begin()
	if err != nil {
		return err
	}
	if q.Messages == nil {
		return schemaError("messages", "messages: Field required")
	}
	x.status(http.StatusOK, newObject(nil).int("input_tokens", len(q.chatTokens())).end())
	return nil
}

// stopReason translates a finish reason.
func stopReason(finish, stopped string) string {
	switch {
	case stopped != "":
		return "stop_sequence"
	case finish == core.FinishLength.String():
		return "max_tokens"
	case finish == "":
		return ""
	}
	return "end_turn"
}

// message writes one Anthropic answer.
type message struct {
	x     *exchange
	model string
	made  int
}

func (m *message) body(b []byte, text string, whole bool, reason, stopped string, u usage) []byte {
	return newObject(b).str("id", m.x.info.ID).str("type", "message").str("role", "assistant").
		nested("content", func(b []byte) []byte {
			b = append(b, '[')
			if whole {
				b = newObject(b).str("type", "text").str("text", text).end()
			}
			return append(b, ']')
		}).str("model", m.model).nullable("stop_reason", reason).nullable("stop_sequence", stopped).
		nested("usage", func(b []byte) []byte {
			b = append(b, `{"input_tokens":`...)
			b = strconv.AppendInt(b, int64(u.prompt), 10)
			b = append(b, `,"output_tokens":`...)
			return append(strconv.AppendInt(b, int64(u.completion), 10), '}')
		}).end()
}

// send writes one named event.
func (m *message) send(kind string, fill func(o *object)) error {
	x := m.x
	x.buf = append(append(append(x.buf[:0], "event: "...), kind...), "\ndata: "...)
	o := newObject(x.buf).str("type", kind)
	fill(o)
	x.buf = append(o.end(), "\n\n"...)
	return x.event(x.buf)
}

func (m *message) stream() error {
	x := m.x
	if x.s.cfg.Dialect != SGLang {
		x.startStream()
	}
	finish, stopped := "", x.job.answers[0].stopped
	opened := false
	for finish == "" {
		pieces, _, aborted, err := x.next()
		if err != nil {
			return err
		}
		if !opened {
			opened = true
			err = m.open()
		}
		for i := 0; i < len(pieces) && err == nil; i++ {
			finish = pieces[i].finish.String()
			err = m.text(pieces[i].index)
		}
		switch {
		case errors.Is(err, errAborted):
			x.abort()
			aborted = true
		case err != nil:
			return err
		}
		if aborted {
			finish, stopped = core.FinishAbort.String(), ""
		}
	}
	return m.close(stopReason(finish, stopped), stopped)
}

func (m *message) open() error {
	u := m.x.usage(0)
	err := m.send("message_start", func(o *object) {
		o.nested("message", func(b []byte) []byte { return m.body(b, "", false, "", "", u) })
	})
	if err != nil {
		return err
	}
	return m.send("content_block_start", func(o *object) {
		o.int("index", 0).raw("content_block", `{"type":"text","text":""}`)
	})
}

func (m *message) text(i int) error {
	m.made++
	t := m.x.job.answers[0].text(i)
	if t == "" {
		return nil
	}
	return m.send("content_block_delta", func(o *object) {
		o.int("index", 0).nested("delta", func(b []byte) []byte {
			return newObject(b).str("type", "text_delta").str("text", t).end()
		})
	})
}

func (m *message) close(reason, stopped string) error {
	if err := m.send("content_block_stop", func(o *object) { o.int("index", 0) }); err != nil {
		return err
	}
	err := m.send("message_delta", func(o *object) {
		o.nested("delta", func(b []byte) []byte {
			return newObject(b).nullable("stop_reason", reason).nullable("stop_sequence", stopped).end()
		}).nested("usage", func(b []byte) []byte {
			u := m.x.usage(m.made)
			return newObject(b).int("input_tokens", u.prompt).int("output_tokens", u.completion).end()
		})
	})
	if err != nil {
		return err
	}
	end := `{"type":"message_stop"}`
	return m.x.terminator([]byte(strings.Join([]string{"event: message_stop\ndata: ", end, "\n\n"}, "")))
}
