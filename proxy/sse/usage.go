package sse

// Usage is what an engine says a request has used.
type Usage struct {
	Prompt      int64 // prompt tokens, cached ones included
	Completion  int64 // generated tokens
	Cached      int64 // prompt tokens found in the cache
	Known       bool  // at least one count was seen
	CachedKnown bool  // the engine reports cached tokens; else Cached is no statement
}

// tally collects counts under their names on the wire. The zero value is empty.
type tally struct {
	prompt, completion, cached, cacheRead, cacheMade tokens
}

type tokens struct {
	n     int64
	known bool
}

func (t *tokens) read(w *walker) {
	if n, ok := count(w.skip()); ok {
		*t = tokens{n, true}
	}
}

func (t *tokens) add(from tokens) {
	if from.known {
		*t = tokens{t.n + from.n, true}
	}
}

// read takes the counts of a usage or meta_info object; later ones replace
// earlier ones of the same name. It reports whether there was an object.
func (t *tally) read(w *walker) bool {
	if !w.enter('{') {
		return false
	}
	for key := w.key(); key != nil; key = w.key() {
		t.member(key, w)
	}
	return true
}

func (t *tally) member(key []byte, w *walker) {
	switch string(key) {
	case "prompt_tokens", "input_tokens":
		t.prompt.read(w)
	case "completion_tokens", "output_tokens":
		t.completion.read(w)
	case "cached_tokens":
		t.cached.read(w)
	case "cache_read_input_tokens":
		t.cacheRead.read(w)
	case "cache_creation_input_tokens":
		t.cacheMade.read(w)
	case "prompt_tokens_details", "input_tokens_details":
		if !w.enter('{') {
			return
		}
		for key := w.key(); key != nil; key = w.key() {
			if string(key) == "cached_tokens" {
				t.cached.read(w)
			} else {
				w.skip()
			}
		}
	default:
		w.skip()
	}
}

func (t *tally) add(from *tally) {
	t.prompt.add(from.prompt)
	t.completion.add(from.completion)
	t.cached.add(from.cached)
	t.cacheRead.add(from.cacheRead)
	t.cacheMade.add(from.cacheMade)
}

func (t *tally) usage() Usage {
	u := Usage{
		Prompt:      t.prompt.n + t.cacheRead.n + t.cacheMade.n,
		Completion:  t.completion.n,
		Cached:      t.cached.n,
		Known:       t.prompt.known || t.completion.known,
		CachedKnown: t.cached.known || t.cacheRead.known,
	}
	if !t.cached.known {
		u.Cached = t.cacheRead.n
	}
	return u
}

// UsageFromBody reads the token counts of a whole, unstreamed JSON answer. It
// looks at the top-level members only (usage, or SGLang's meta_info; for a batch
// of /generate, an array, the sum) and costs one pass without allocation. It
// reports false when the body has no counts or cannot be followed to its end.
func UsageFromBody(api API, body []byte) (Usage, bool) {
	w := walker{b: body}
	w.space()
	var total tally
	if api == APIGenerate && w.peek() == '[' {
		w.i++
		for w.more(']') {
			var one tally
			bodyUsage(&w, &one)
			total.add(&one)
		}
	} else {
		bodyUsage(&w, &total)
	}
	u := total.usage()
	return u, u.Known && !w.bad
}

func bodyUsage(w *walker, t *tally) {
	if !w.enter('{') {
		return
	}
	for key := w.key(); key != nil; key = w.key() {
		switch string(key) {
		case "usage", "meta_info":
			t.read(w)
		default:
			w.skip()
		}
	}
}
