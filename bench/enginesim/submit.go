package enginesim

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"penstock/bench/enginesim/core"
	"penstock/bench/enginesim/tokens"
)

// limits are the generation settings of a request, wherever its route keeps them.
type limits struct {
	max       *int
	min       int
	n         int
	seed      int64
	ignoreEOS bool
	stop      []string
}

func (q *apiRequest) limits() limits {
	l := limits{min: q.MinTokens, n: 1, ignoreEOS: q.IgnoreEOS, stop: textList(q.Stop)}
	for _, m := range []*int{q.MaxTokens, q.MaxOutputTokens, q.MaxCompletionTokens} {
		if m != nil {
			l.max = m
		}
	}
	if q.N != nil {
		l.n = *q.N
	}
	if q.Seed != nil {
		l.seed = *q.Seed
	}
	if p := q.SamplingParams; p != nil {
		l.min, l.ignoreEOS, l.stop = p.MinTokens, p.IgnoreEOS, textList(p.Stop)
		l.max = p.MaxTokens
		if p.MaxNewTokens != nil {
			l.max = p.MaxNewTokens
		}
		if p.N != nil {
			l.n = *p.N
		}
		if p.Seed != nil {
			l.seed = *p.Seed
		}
	}
	return l
}

// answersFor plans what each prompt will be answered with, n times.
func (s *Server) answersFor(prompts [][]uint32, l limits) ([]answer, error) {
	if l.n < 1 || l.n > 128 {
		return nil, schemaError("n", "n must be between 1 and 128, got %d.", l.n)
	}
	if l.max != nil && *l.max < 1 {
		return nil, schemaError("max_tokens", "max_tokens must be at least 1, got %d.", *l.max)
	}
	answers := make([]answer, 0, len(prompts)*l.n)
	for _, p := range prompts {
		if len(p) == 0 {
			return nil, badRequest("The prompt must not be empty")
		}
		room := s.cfg.Engine.MaxModelLen - len(p)
		if room <= 0 {
			return nil, badRequest("This model's maximum context length is %d tokens. However, your request has %d input tokens. Please reduce the length of the input messages.",
				s.cfg.Engine.MaxModelLen, len(p))
		}
		most := room
		if l.max != nil {
			if s.cfg.Dialect == SGLang && *l.max > room {
				return nil, badRequest("Requested token count exceeds the model's maximum context length of %d tokens. You requested a total of %d tokens.",
					s.cfg.Engine.MaxModelLen, len(p)+*l.max)
			}
			most = min(room, *l.max) // vLLM clamps in silence
		}
		for i := range l.n {
			a := answer{prompt: p, writer: tokens.NewWriter(p, l.seed+int64(i), tokens.Length{
				Max: most, Min: l.min, Mean: s.cfg.MeanOutput, IgnoreEOS: l.ignoreEOS,
			})}
			a.plan(l.stop)
			answers = append(answers, a)
		}
	}
	return answers, nil
}

// plan decides why the answer ends. A stop string that the text will contain
// ends it there, and is not part of it.
func (a *answer) plan(stop []string) {
	a.finish = core.FinishLength
	if a.writer.EndsItself() {
		a.finish = core.FinishStop
	}
	if len(stop) == 0 {
		return
	}
	var text strings.Builder
	var ends []int
	for i := range a.writer.Tokens() {
		text.WriteString(a.writer.Text(i))
		ends = append(ends, text.Len())
	}
	at, which := -1, ""
	for _, s := range stop {
		if i := strings.Index(text.String(), s); s != "" && i >= 0 && (at < 0 || i < at) {
			at, which = i, s
		}
	}
	if at < 0 {
		return
	}
	last, _ := slices.BinarySearch(ends, at+len(which)) // the token that completes it
	all := text.String()
	from := 0
	for _, end := range ends[:last+1] {
		a.clipped = append(a.clipped, all[min(from, at):min(end, at)])
		from = end
	}
	a.writer.Cut(last + 1)
	a.finish, a.stopped = core.FinishStop, which
}

// begin reads and checks the body of a JSON route.
func (x *exchange) begin() (*apiRequest, error) {
	x.info = RequestInfo{RequestID: x.r.Header.Get("X-Request-Id"), Path: x.r.URL.Path, Received: x.s.cfg.Now()}
	if err := x.readBody(); err != nil {
		return nil, badRequest("cannot read the body: %v", err)
	}
	if x.s.cfg.EchoID && x.info.RequestID != "" {
		x.w.Header().Set("X-Request-Id", x.info.RequestID)
	}
	media, _, _ := strings.Cut(x.r.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(media), "application/json") {
		return nil, schemaError("header.content-type", "Unsupported Media Type: Only 'application/json' is allowed")
	}
	q, err := parse(x.body)
	if err != nil {
		return nil, err
	}
	if err := x.s.checkFields(x.r.URL.Path, x.body); err != nil {
		return nil, err
	}
	if q.StreamOptions != nil && !q.Stream && x.s.cfg.Dialect != SGLang {
		return nil, schemaError("stream_options", "Stream options can only be defined when `stream=True`.")
	}
	x.info.Model, x.info.Stream = q.Model, q.Stream
	return q, nil
}

// adapter resolves the model of a request to a LoRA name.
func (s *Server) adapter(q *apiRequest) (string, error) {
	name := q.Model
	if s.cfg.Dialect == SGLang {
		// Any model name is served; base:adapter or lora_path picks the adapter.
		if _, a, ok := strings.Cut(name, ":"); ok {
			return a, nil
		}
		return q.LoraPath, nil
	}
	switch {
	case name == "" || name == s.cfg.Model || s.cfg.Dialect == TRTLLM:
		return "", nil
	case slices.Contains(s.cfg.Adapters, name):
		return name, nil
	}
	return "", apiError{status: http.StatusNotFound, kind: kindNotFound, param: "model", message: "The model `" + name + "` does not exist."}
}

// rank picks the data-parallel rank: the one asked for, or the least loaded.
func (x *exchange) rank(q *apiRequest) (*runner, error) {
	ranks := x.s.ranks
	want := -1
	if q.RoutedDPRank != nil && x.s.cfg.Dialect == SGLang {
		want = *q.RoutedDPRank
	}
	if h := x.r.Header.Get("X-Data-Parallel-Rank"); h != "" && x.s.cfg.Dialect != TRTLLM {
		v, err := strconv.Atoi(h)
		switch {
		case err == nil:
			want = v
		case x.s.cfg.Dialect == SGLang:
			return nil, apiError{
				status: http.StatusBadRequest, kind: kindBadRequest,
				message: "Invalid X-Data-Parallel-Rank header: must be an integer, got '" + h + "'",
			}
		}
		if err == nil && (want < 0 || want >= len(ranks)) {
			return nil, badRequest("data_parallel_rank %d is out of range [0, %d).", want, len(ranks))
		}
	}
	if want >= len(ranks) || want < -1 {
		return nil, badRequest("data_parallel_rank %d is out of range [0, %d).", want, len(ranks))
	}
	if want >= 0 {
		return ranks[want], nil
	}
	best := ranks[0]
	if len(ranks) > 1 {
		least := -1
		for _, r := range ranks {
			c := r.snapshot()
			if n := c.Running + c.Waiting; least < 0 || n < least {
				best, least = r, n
			}
		}
	}
	return best, nil
}

// priority is the order asked for. vLLM takes it from a header too, and refuses
// any unless it schedules by priority.
func (x *exchange) priority(q *apiRequest) (int, error) {
	p := q.priority(x.s.cfg.Dialect)
	if x.s.cfg.Dialect != VLLM {
		return p, nil
	}
	if h := x.r.Header.Get("X-Vllm-Priority"); h != "" {
		v, err := strconv.Atoi(h)
		if err != nil {
			return 0, badRequest("X-Vllm-Priority must be an integer, got '%s'.", h)
		}
		p = v
	}
	if p != 0 && !x.s.cfg.Engine.ByPriority {
		return 0, badRequest("Got priority %d but Priority scheduling is not enabled.", p)
	}
	return p, nil
}

// submit plans the answers to prompts and puts them into the engine. On
// success the caller must defer x.finish.
func (x *exchange) submit(q *apiRequest, prompts [][]uint32) error {
	adapter, err := x.s.adapter(q)
	if err != nil {
		return err
	}
	r, err := x.rank(q)
	if err != nil {
		return err
	}
	answers, err := x.s.answersFor(prompts, q.limits())
	if err != nil {
		return err
	}
	salt := ""
	if q.CacheSalt != nil {
		if salt = *q.CacheSalt; salt == "" {
			return schemaError("cache_salt", "Parameter 'cache_salt' must be a non-empty string if provided.")
		}
	}
	priority, err := x.priority(q)
	if err != nil {
		return err
	}
	j := &job{answers: answers, ready: make(chan struct{}, 1)}
	x.info.Adapter, x.info.Salt, x.info.Rank, x.info.PromptTokens = adapter, salt, r.rank, j.promptTokens()
	if err := r.submit(j, adapter, salt, priority); err != nil {
		return err
	}
	x.job = j
	x.s.log.begin(x)
	call(&x.s.hooks.request, x.info)
	return nil
}

// finish takes the job out of the engine if it still runs, and logs the request.
func (x *exchange) finish() {
	if x.job == nil {
		return
	}
	select {
	case <-x.left:
		x.gone = true
	default:
	}
	if x.gone && !x.severed {
		x.lingerGone()
	}
	if x.job.cancel() {
		x.info.Aborted = true
	}
	x.info.CachedTokens, x.info.OutputTokens = x.job.counts()
	if x.info.Aborted {
		x.info.Finish = core.FinishAbort.String()
	}
	x.info.Took = x.s.cfg.Now().Sub(x.info.Received)
	x.s.log.end(x)
	if x.info.Aborted {
		call(&x.s.hooks.abort, x.info)
	}
	call(&x.s.hooks.done, x.info)
}

// next waits for tokens. ended means that no more will come; aborted that the
// engine gave the request up. An error means that the client left, or the server closes.
func (x *exchange) next() (pieces []piece, ended, aborted bool, err error) {
	for {
		pieces, ended, aborted = x.job.take()
		if len(pieces) > 0 || ended {
			x.note(pieces, aborted)
			return pieces, ended, aborted, nil
		}
		select {
		case <-x.job.ready:
		case <-x.left:
			x.gone = true
			return nil, true, true, errEnded
		case <-x.s.closing:
			return nil, true, true, errEnded
		}
	}
}

// note keeps for the log how the request ended.
func (x *exchange) note(pieces []piece, aborted bool) {
	for i := range pieces {
		if f := pieces[i].finish; f != core.FinishNone {
			x.info.Finish = f.String()
		}
	}
	if aborted {
		x.info.Finish = core.FinishAbort.String()
	}
}

// lingerGone keeps the request in the engine for as long as the imitated
// server takes to notice that its client left.
func (x *exchange) lingerGone() {
	delay := x.s.cfg.GoneDelay
	if x.info.Stream {
		delay = x.s.cfg.GoneDelayStream
	}
	if _, ended, _ := x.job.take(); ended || delay <= 0 {
		return
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return
		case <-x.s.closing:
			return
		case <-x.job.ready:
			if _, ended, _ := x.job.take(); ended {
				return
			}
		}
	}
}

// fail answers with err in the dialect's shape. On SGLang a full queue is told
// to a streaming client as the first event of a stream with status 200.
func (x *exchange) fail(err error) {
	e := asAPIError(x.s.cfg.Dialect, err)
	if e.kind == kindOverloaded && x.info.Stream && x.s.cfg.Dialect == SGLang {
		if x.write(x.s.wire.errorEvent(nil, x.r.URL.Path, e)) == nil {
			_ = x.write(doneEvent)
		}
		return
	}
	x.status(e.status, x.s.wire.errorBody(nil, x.r.URL.Path, e))
}

// newID is 32 hex digits, different for every request of a server.
func (s *Server) newID() string {
	n := s.ids.Add(1)
	b := make([]byte, 0, 32)
	for i := range uint64(2) {
		v := spread(uint64(s.cfg.Seed)*2 + i + n*0x9e3779b97f4a7c15)
		h := strconv.FormatUint(v, 16)
		b = append(append(b, "0000000000000000"[len(h):]...), h...)
	}
	return string(b)
}

func spread(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// checkFields refuses what the schema does not know, where the server does.
func (s *Server) checkFields(path string, body []byte) error {
	if s.cfg.Dialect != TRTLLM {
		return nil
	}
	known, ok := trtllmFields[path]
	if !ok {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return schemaError("", "%v", err)
	}
	for k := range fields {
		if !slices.Contains(known, k) {
			return schemaError(k, "[{'type': 'extra_forbidden', 'loc': ('body', '%s'), 'msg': 'Extra inputs are not permitted'}]", k)
		}
	}
	return nil
}
