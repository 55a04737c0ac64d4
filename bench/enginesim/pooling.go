package enginesim

import (
	"net/http"
	"sort"
	"strconv"

	"penstock/bench/enginesim/tokens"
)

// encode runs texts through the engine as prefills of one token and returns
// their token counts. Pooling models have no cache worth modelling apart.
func (x *exchange) encode(q *apiRequest, prefix string, prompts [][]uint32) (usage, error) {
	x.info.ID = x.head(q, prefix).id
	one := 1
	q.MaxTokens, q.N, q.Stream = &one, nil, false
	if err := x.submit(q, prompts); err != nil {
		return usage{}, err
	}
	if _, _, err := x.collect(); err != nil {
		return usage{}, err
	}
	u := x.usage(0)
	return u, nil
}

// vector is deterministic in the tokens, with values in [-1, 1).
func vector(b []byte, ids []uint32, n int) []byte {
	b = append(b, '[')
	seed := uint64(len(ids))
	for _, id := range ids {
		seed = spread(seed + uint64(id))
	}
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		v := spread(seed + uint64(i)*0x9e3779b97f4a7c15)
		b = strconv.AppendFloat(b, float64(v>>40)/(1<<23)-1, 'g', 6, 64)
	}
	return append(b, ']')
}

// score is deterministic in the pair, in [0, 1).
func score(a, b []uint32) float64 {
	seed := uint64(len(a))<<32 + uint64(len(b))
	for _, id := range a {
		seed = spread(seed + uint64(id))
	}
	for _, id := range b {
		seed = spread(seed ^ uint64(id))
	}
	return float64(spread(seed)>>40) / (1 << 24)
}

// pooled answers with one entry per prompt, written by item.
func (x *exchange) pooled(idPrefix string, item func(b []byte, q *apiRequest, i int, prompt []uint32) []byte) error {
	q, err := x.begin()
	if err != nil {
		return err
	}
	raw, param := q.Input, "input"
	if isNull(raw) && !isNull(q.Text) {
		raw, param = q.Text, "text"
	}
	prompts, err := promptList(param, raw)
	if err != nil {
		return err
	}
	u, err := x.encode(q, idPrefix, prompts)
	if err != nil {
		return err
	}
	o := newObject(nil)
	if x.s.cfg.Dialect != SGLang || x.r.URL.Path != "/v1/embeddings" {
		o.str("id", x.info.ID).int("created", int(x.info.Received.Unix()))
	}
	o.str("object", "list").str("model", x.s.cfg.Model)
	o.nested("data", func(b []byte) []byte {
		b = append(b, '[')
		for i, p := range prompts {
			if i > 0 {
				b = append(b, ',')
			}
			b = item(b, q, i, p)
		}
		return append(b, ']')
	})
	x.status(http.StatusOK, o.nested("usage", func(b []byte) []byte { return x.s.wire.usage(b, u) }).end())
	return nil
}

// embeddingSize is the width of a vector when the request does not ask for one.
const embeddingSize = 64

func serveEmbeddings(x *exchange) error {
	return x.pooled("embd-", func(b []byte, q *apiRequest, i int, p []uint32) []byte {
		n := embeddingSize
		if q.Dimensions > 0 {
			n = min(q.Dimensions, 4096)
		}
		return newObject(b).int("index", i).str("object", "embedding").
			nested("embedding", func(b []byte) []byte { return vector(b, p, n) }).end()
	})
}

func servePooling(x *exchange) error {
	return x.pooled("pool-", func(b []byte, _ *apiRequest, i int, p []uint32) []byte {
		return newObject(b).int("index", i).str("object", "pooling").
			nested("data", func(b []byte) []byte { return vector(b, p, embeddingSize) }).end()
	})
}

func serveClassify(x *exchange) error {
	return x.pooled("classify-", func(b []byte, _ *apiRequest, i int, p []uint32) []byte {
		s := score(p, nil)
		label := 0
		if s < 0.5 {
			label = 1
		}
		return newObject(b).int("index", i).str("label", "LABEL_"+strconv.Itoa(label)).
			nested("probs", func(b []byte) []byte {
				b = strconv.AppendFloat(append(b, '['), s, 'g', 6, 64)
				return append(strconv.AppendFloat(append(b, ','), 1-s, 'g', 6, 64), ']')
			}).int("num_classes", 2).end()
	})
}

func serveScore(x *exchange) error {
	q, err := x.begin()
	if err != nil {
		return err
	}
	left, right := textList(q.Text1), textList(q.Text2)
	if left == nil {
		left, right = textList(q.Query), textList(q.Items)
	}
	if len(left) == 0 || len(right) == 0 {
		return schemaError("text_1", "Field required")
	}
	if len(left) != 1 && len(left) != len(right) {
		return badRequest("Input lengths must be either 1:1, 1:N or N:N")
	}
	var scores []float64
	var prompts [][]uint32
	for i, r := range right {
		l := tokens.Encode(nil, left[min(i, len(left)-1)])
		d := tokens.Encode(nil, r)
		scores = append(scores, score(l, d))
		prompts = append(prompts, append(append(l, tokens.EndOfTurn), d...))
	}
	u, err := x.encode(q, "score-", prompts)
	if err != nil {
		return err
	}
	if x.s.cfg.Dialect == SGLang {
		rows := make([][]float64, 0, len(scores))
		for _, s := range scores {
			rows = append(rows, []float64{s})
		}
		o := newObject(nil).raw("scores", string(mustJSON(rows)))
		x.status(http.StatusOK, o.str("model", x.s.cfg.Model).nulls("pooled_hidden_states", "token_logprobs", "usage").str("object", "scoring").end())
		return nil
	}
	o := newObject(nil).str("id", x.info.ID).str("object", "list").int("created", int(x.info.Received.Unix())).str("model", x.s.cfg.Model)
	o.nested("data", func(b []byte) []byte {
		b = append(b, '[')
		for i, s := range scores {
			if i > 0 {
				b = append(b, ',')
			}
			b = newObject(b).int("index", i).str("object", "score").raw("score", strconv.FormatFloat(s, 'g', 6, 64)).end()
		}
		return append(b, ']')
	})
	x.status(http.StatusOK, o.nested("usage", func(b []byte) []byte { return x.s.wire.usage(b, u) }).end())
	return nil
}

func serveRerank(x *exchange) error {
	q, err := x.begin()
	if err != nil {
		return err
	}
	query, docs := textList(q.Query), textList(q.Documents)
	if len(query) != 1 || len(docs) == 0 {
		return schemaError("documents", "Field required")
	}
	type hit struct {
		index int
		score float64
	}
	hits := make([]hit, 0, len(docs))
	var prompts [][]uint32
	for i, d := range docs {
		l, r := tokens.Encode(nil, query[0]), tokens.Encode(nil, d)
		hits = append(hits, hit{i, score(l, r)})
		prompts = append(prompts, append(append(l, tokens.EndOfTurn), r...))
	}
	u, err := x.encode(q, "rerank-", prompts)
	if err != nil {
		return err
	}
	sort.SliceStable(hits, func(i, j int) bool { return hits[i].score > hits[j].score })
	if q.TopN > 0 && q.TopN < len(hits) {
		hits = hits[:q.TopN]
	}
	results := func(b []byte) []byte {
		b = append(b, '[')
		for i, h := range hits {
			if i > 0 {
				b = append(b, ',')
			}
			o := newObject(b)
			if x.s.cfg.Dialect == SGLang {
				b = o.raw("score", strconv.FormatFloat(h.score, 'g', 6, 64)).str("document", docs[h.index]).int("index", h.index).nulls("meta_info").end()
				continue
			}
			b = o.int("index", h.index).nested("document", func(b []byte) []byte { return newObject(b).str("text", docs[h.index]).nulls("multi_modal").end() }).
				raw("relevance_score", strconv.FormatFloat(h.score, 'g', 6, 64)).end()
		}
		return append(b, ']')
	}
	if x.s.cfg.Dialect == SGLang { // a bare list
		x.status(http.StatusOK, results(nil))
		return nil
	}
	x.status(http.StatusOK, newObject(nil).str("id", x.info.ID).str("model", x.s.cfg.Model).
		nested("usage", func(b []byte) []byte {
			return newObject(b).int("prompt_tokens", u.prompt).int("total_tokens", u.prompt).end()
		}).nested("results", results).end())
	return nil
}
