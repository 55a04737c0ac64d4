package keying

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"penstock/configs"
	"penstock/pools"
	"penstock/routing/chattemplate"
)

// tinySource is a source with the tiny tokenizer, loaded.
func tinySource(tb testing.TB) *Source {
	tb.Helper()
	cfg := configs.DefaultPool()
	cfg.Engine, cfg.Tokenizer.Path, cfg.Tokenizer.Budget, cfg.Tokenizer.Parity = configs.EngineVLLM, "testdata/tiny", 0, configs.ParityOff
	set, err := pools.New("p", cfg, pools.Deps{})
	if err != nil {
		tb.Fatal(err)
	}
	m, err := New(Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
	if err != nil {
		tb.Fatal(err)
	}
	s := m.Source(set, &cfg)
	s.load()
	if st := s.Status(); st.State != StateReady || st.Template != "" {
		tb.Fatalf("%+v", st)
	}
	return s
}

// conversation is a chat of some turns, about a KiB each.
func conversation(tb testing.TB, turns int) *Request {
	tb.Helper()
	var list []map[string]string
	for i := range turns {
		role := []string{"user", "assistant"}[i%2]
		text := fmt.Sprintf("Turn %d. ", i) + strings.Repeat("The water goes to the turbines, and the gate opens. ", 20)
		list = append(list, map[string]string{"role": role, "content": text})
	}
	body, err := json.Marshal(map[string]any{"model": "m", "messages": list})
	if err != nil {
		tb.Fatal(err)
	}
	return &Request{Kind: chattemplate.KindChat, Model: "m", Body: body}
}

func TestWarmChatsDoNotAllocate(t *testing.T) {
	s, q, r := tinySource(t), conversation(t, 31), &Result{}
	s.Key(q, r)
	s.Key(q, r)
	if r.Origin != OriginMemo || r.KnownTokens < r.Tokens*9/10 {
		t.Fatalf("%v, %d of %d tokens known", r.Origin, r.KnownTokens, r.Tokens)
	}
	if n := testing.AllocsPerRun(100, func() { s.Key(q, r) }); n > 0 && raceSlack == 1 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkKey(b *testing.B) {
	for _, turns := range []int{1, 31} {
		q := conversation(b, turns)
		b.Run(fmt.Sprintf("known/%dKiB", turns), func(b *testing.B) {
			s, r := tinySource(b), &Result{}
			s.Key(q, r)
			b.SetBytes(int64(len(q.Body)))
			b.ReportAllocs()
			for b.Loop() {
				s.Key(q, r)
			}
		})
	}
	b.Run("text/31KiB", func(b *testing.B) {
		s, r := tinySource(b), &Result{}
		q := conversation(b, 31)
		q.Prompt = q.Body
		s.mu.Lock()
		s.loaded.refused = "a test"
		s.cfg.Remote = configs.RemoteOff
		s.publish()
		s.mu.Unlock()
		b.SetBytes(int64(len(q.Body)))
		b.ReportAllocs()
		for b.Loop() {
			s.Key(q, r)
		}
		if r.Origin != OriginBytes {
			b.Fatal(r.Origin)
		}
	})
}
