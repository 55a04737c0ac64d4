package enginesim

import (
	"errors"
	"net/http"
	"strings"

	"penstock/bench/enginesim/core"
)

// api is one of the two shapes of generated text.
type api struct {
	prefix string // of ids
	chat   bool
}

var (
	chatAPI       = api{prefix: "chatcmpl-", chat: true}
	completionAPI = api{prefix: "cmpl-"}
)

func serveChat(x *exchange) error {
	q, err := x.begin()
	if err != nil {
		return err
	}
	if q.Messages == nil {
		return schemaError("messages", "1 validation error: {'type': 'missing', 'loc': ('body', 'messages'), 'msg': 'Field required'}")
	}
	prompt := q.chatTokens()
	if x.s.cfg.Dialect == SGLang && !isNull(q.InputIDs) {
		lists, err := promptList("input_ids", q.InputIDs)
		if err != nil {
			return err
		}
		prompt = lists[0]
	}
	return x.generate(q, [][]uint32{prompt}, chatAPI)
}

func serveCompletion(x *exchange) error {
	q, err := x.begin()
	if err != nil {
		return err
	}
	prompts, err := promptList("prompt", q.Prompt)
	if err != nil {
		return err
	}
	if q.MaxTokens == nil {
		sixteen := 16 // the default of the API, on every server
		q.MaxTokens = &sixteen
	}
	return x.generate(q, prompts, completionAPI)
}

// generate answers prompts as api wants it, streamed or in one piece.
func (x *exchange) generate(q *apiRequest, prompts [][]uint32, a api) error {
	h := x.head(q, a.prefix)
	x.info.ID = h.id
	if err := x.submit(q, prompts); err != nil {
		return err
	}
	if q.ReturnTokenIDs {
		h.wantIDs, h.promptIDs = true, prompts[0]
	}
	if q.Stream {
		return x.stream(q, h, a)
	}
	choices, u, err := x.collect()
	if err != nil {
		return err
	}
	if !h.wantIDs {
		for i := range choices {
			choices[i].ids, choices[i].promptIDs = nil, nil
		}
	}
	var body []byte
	if a.chat {
		body = x.s.wire.chatBody(nil, h, choices, u)
	} else {
		body = x.s.wire.completionBody(nil, h, choices, u)
	}
	x.status(http.StatusOK, body)
	return nil
}

// head names the answer.
func (x *exchange) head(q *apiRequest, prefix string) *head {
	h := &head{model: q.Model, created: x.info.Received.Unix()}
	if h.model == "" {
		h.model = x.s.cfg.Model
	}
	switch x.s.cfg.Dialect {
	case VLLM:
		h.id = x.info.RequestID
		if h.id == "" {
			h.id = q.RequestID
		}
		if h.id == "" {
			h.id = x.s.newID()
		}
		h.id = prefix + h.id
	case SGLang:
		if h.id = q.RID; h.id == "" {
			h.id = x.s.newID()
		}
	case TRTLLM:
		h.id = prefix + x.s.newID()
	}
	return h
}

// collect waits for whole answers.
func (x *exchange) collect() ([]choice, usage, error) {
	j := x.job
	texts := make([]strings.Builder, len(j.answers))
	choices := make([]choice, len(j.answers))
	for i := range choices {
		choices[i] = choice{index: i, promptIDs: j.answers[i].prompt, ids: []uint32{}}
	}
	got := 0
	for {
		pieces, ended, aborted, err := x.next()
		if err != nil {
			return nil, usage{}, err
		}
		for _, p := range pieces {
			if x.fault.Cut == CutAbort && got >= x.fault.After {
				break
			}
			got++
			a, c := &j.answers[p.choice], &choices[p.choice]
			texts[p.choice].WriteString(a.text(p.index))
			c.ids = append(c.ids, a.writer.ID(p.index))
			if p.finish != core.FinishNone {
				c.finish, c.stopped = p.finish.String(), a.stopped
			}
		}
		if x.fault.Cut == CutAbort && got >= x.fault.After {
			x.abort()
			aborted, ended = true, true
		}
		if x.fault.Cut == CutError {
			return nil, usage{}, apiError{status: http.StatusInternalServerError, kind: kindInternal, message: "EngineCore encountered an issue."}
		}
		if !ended {
			continue
		}
		for i := range choices {
			choices[i].text = texts[i].String()
			if choices[i].finish == "" && aborted {
				choices[i].finish = core.FinishAbort.String()
			}
		}
		return choices, x.usage(got), nil
	}
}

// abort takes the job out of the engine on the server's own account.
func (x *exchange) abort() {
	if x.job.cancel() {
		x.info.Aborted = true
	}
}

// usage counts what has been told to the client: made tokens.
func (x *exchange) usage(made int) usage {
	cached, _ := x.job.counts()
	// n answers share the prompt, which is counted once per prompt.
	prompt := 0
	var last []uint32
	for i := range x.job.answers {
		p := x.job.answers[i].prompt
		if last == nil || &p[0] != &last[0] {
			prompt += len(p)
		}
		last = p
	}
	return usage{prompt: prompt, completion: made, cached: min(cached, prompt)}
}

// streamer writes the events of one stream.
type streamer struct {
	x          *exchange
	h          *head
	api        api
	tailUsage  bool // an event with usage and no choice ends the stream
	everyUsage bool // every event carries usage
	made       int
	opened     []bool
	finished   []bool
}

func (x *exchange) stream(q *apiRequest, h *head, a api) error {
	st := &streamer{
		x: x, h: h, api: a, tailUsage: x.s.cfg.ForceUsage,
		opened: make([]bool, len(x.job.answers)), finished: make([]bool, len(x.job.answers)),
	}
	if o := q.StreamOptions; o != nil {
		st.tailUsage = st.tailUsage || o.IncludeUsage
		st.everyUsage = o.IncludeUsage && o.ContinuousUsage
	}
	if x.s.cfg.Dialect != SGLang {
		x.startStream() // SGLang sends no header before the first event
	}
	err := st.run()
	if errors.Is(err, errAborted) {
		x.abort()
		x.info.Finish = core.FinishAbort.String()
		err = st.abort()
	}
	if err != nil {
		return err
	}
	if st.tailUsage {
		u := x.usage(st.made)
		if err := st.send(&delta{tail: true, usage: &u, final: true}); err != nil && !errors.Is(err, errAborted) {
			return err
		}
	}
	return x.terminator(doneEvent)
}

func (st *streamer) run() error {
	for {
		pieces, ended, aborted, err := st.x.next()
		if err != nil {
			return err
		}
		for _, p := range pieces {
			if err := st.piece(p); err != nil {
				return err
			}
		}
		if aborted {
			return st.abort()
		}
		if ended {
			return nil
		}
	}
}

func (st *streamer) piece(p piece) error {
	a := &st.x.job.answers[p.choice]
	first := !st.opened[p.choice]
	if err := st.open(p.choice); err != nil {
		return err
	}
	d := delta{choice: p.choice, text: a.text(p.index), id: a.writer.ID(p.index), first: first}
	st.made++
	if p.finish == core.FinishNone {
		return st.send(&d)
	}
	st.finished[p.choice] = true
	if st.api.chat && st.x.s.wire.finishApart() {
		if d.text != "" {
			if err := st.send(&d); err != nil {
				return err
			}
		}
		d.text, d.last = "", true
	}
	d.finish, d.stopped, d.final = p.finish.String(), a.stopped, !st.tailUsage
	return st.send(&d)
}

// open sends the event that begins a chat answer.
func (st *streamer) open(i int) error {
	if st.opened[i] {
		return nil
	}
	st.opened[i] = true
	if !st.api.chat {
		return nil
	}
	return st.send(&delta{choice: i, role: true})
}

// abort ends every answer that has not ended.
func (st *streamer) abort() error {
	for i := range st.finished {
		if st.finished[i] {
			continue
		}
		if err := st.open(i); err != nil {
			return err
		}
		d := delta{choice: i, last: st.x.s.wire.finishApart(), finish: core.FinishAbort.String(), final: !st.tailUsage}
		if err := st.send(&d); err != nil {
			return err
		}
	}
	return nil
}

func (st *streamer) send(d *delta) error {
	if st.everyUsage && d.usage == nil {
		u := st.x.usage(st.made)
		d.usage = &u
	}
	x := st.x
	if st.api.chat {
		x.buf = x.s.wire.chatEvent(x.buf[:0], st.h, d)
	} else {
		x.buf = x.s.wire.completionEvent(x.buf[:0], st.h, d)
	}
	return x.event(x.buf)
}
