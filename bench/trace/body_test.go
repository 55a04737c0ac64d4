package trace

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

type body struct {
	Model     string    `json:"model"`
	Messages  []Message `json:"messages"`
	Prompt    string    `json:"prompt"`
	MaxTokens int       `json:"max_tokens"`
	Stream    bool      `json:"stream"`
}

func parse(t *testing.T, b []byte) body {
	t.Helper()
	var v body
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("cannot parse %.200q: %v", b, err)
	}
	return v
}

func TestEqualBlocksAreEqualText(t *testing.T) {
	t.Parallel()
	tr := &Trace{BlockTokens: 16, Requests: []Request{
		{Input: 40, Output: 7, Blocks: []uint64{1, 2, 3}},
		{Input: 48, Blocks: []uint64{1, 2, 9}},
		{Input: 44, Blocks: []uint64{1, 2, 9}},
	}}
	s := Synth{Model: "m", API: Completions, Streams: true}
	a, b, c := parse(t, s.AppendBody(nil, tr, 0)), parse(t, s.AppendBody(nil, tr, 1)), parse(t, s.AppendBody(nil, tr, 2))
	if len(a.Prompt) != 160 || len(b.Prompt) != 192 || a.MaxTokens != 7 || !a.Stream || a.Model != "m" {
		t.Fatalf("got %d and %d bytes of prompt: %+v", len(a.Prompt), len(b.Prompt), a)
	}
	if a.Prompt[:128] != b.Prompt[:128] || a.Prompt[128:136] == b.Prompt[128:136] {
		t.Fatal("the prompts must agree on the first two blocks and differ after them")
	}
	if !strings.HasPrefix(b.Prompt, c.Prompt) {
		t.Fatal("a cut block must be the start of the whole one")
	}
	s.Salt = 1
	if parse(t, s.AppendBody(nil, tr, 0)).Prompt[:16] == a.Prompt[:16] {
		t.Fatal("another salt must be other text")
	}
}

func TestChatBodies(t *testing.T) {
	t.Parallel()
	tr := &Trace{BlockTokens: 16, Requests: []Request{
		{Input: 40, Blocks: []uint64{1, 2, 3}},
		{Input: 10},
		{Messages: []Message{{"system", "a"}, {"user", "quote \" and é\n"}}},
		{Input: 10},
	}}
	s := Synth{Model: "m", API: Chat}
	a := parse(t, s.AppendBody(nil, tr, 0))
	if len(a.Messages) != 2 || a.Messages[0].Role != "system" || len(a.Messages[0].Content) != 64 || len(a.Messages[1].Content) != 96 {
		t.Fatalf("got %+v", a.Messages)
	}
	b, d := parse(t, s.AppendBody(nil, tr, 1)), parse(t, s.AppendBody(nil, tr, 3))
	if len(b.Messages) != 1 || len(b.Messages[0].Content) != 40 || b.Messages[0] == d.Messages[0] {
		t.Fatalf("prompts without blocks must be unlike each other: %+v %+v", b, d)
	}
	c := parse(t, s.AppendBody(nil, tr, 2))
	if c.Messages[1].Content != "quote \" and é\n" {
		t.Fatalf("got %+v", c.Messages)
	}
}

func TestAppendTextIsPrefixStable(t *testing.T) {
	t.Parallel()
	long := AppendText(nil, 42, 4096)
	for _, n := range []int{0, 1, 7, 512, 4095} {
		if !bytes.Equal(AppendText(nil, 42, n), long[:n]) {
			t.Fatalf("text of %d bytes is not the start of the longer one", n)
		}
	}
	if !json.Valid(append(append([]byte{'"'}, long...), '"')) {
		t.Fatal("text needs escaping")
	}
}

func TestAppendBodyDoesNotAllocate(t *testing.T) {
	tr := &Trace{BlockTokens: 512, Requests: []Request{{Input: 8192, Output: 100, Blocks: make([]uint64, 16)}}}
	s := Synth{Model: "m", API: Chat, Streams: true}
	buf := make([]byte, 0, 64<<10)
	if n := testing.AllocsPerRun(20, func() { buf = s.AppendBody(buf[:0], tr, 0) }); n != 0 {
		t.Fatalf("%.0f allocations, want 0", n)
	}
}
