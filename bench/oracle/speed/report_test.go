package main

import (
	"strings"
	"testing"
	"time"

	"penstock/bench/oracle"
	"penstock/bench/oracle/corpus"
	"penstock/routing/tokenizer"
)

func TestFloorsNameWhatIsMissed(t *testing.T) {
	t.Parallel()
	fast := result{
		model: oracle.Model{Name: "fast"}, info: tokenizer.Info{Kind: "byte-level BPE"}, loadCPU: time.Millisecond,
		speed: map[corpus.Kind]speed{corpus.English: {"ours": {61, 60, 10}}, corpus.Code: {"ours": {70}}, corpus.Mixed: {"ours": {40}}, corpus.Chinese: {"ours": {20}}},
		worst: []worst{{"spaces", []time.Duration{60 * time.Millisecond}}},
	}
	slow := fast
	slow.model.Name, slow.info.Kind, slow.loadCPU = "slow", "SentencePiece BPE", 2*time.Second
	slow.speed = map[corpus.Kind]speed{corpus.Space: {"ours": {19.4}}, corpus.English: {"ours": {20}}, corpus.Code: {"ours": {20}}, corpus.Mixed: {"ours": {20}}, corpus.Chinese: {"ours": {20}}}
	slow.worst = []worst{{"spaces", []time.Duration{61 * time.Millisecond}}}
	got := floors([]result{fast, slow})
	for _, want := range []string{"10 met, 3 missed", "slow, space: 19 MB/s", "slow, 400 KB of spaces: 61 ms", "slow loads in 2000 ms of CPU"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "missed: fast") {
		t.Errorf("the fast one is said to miss:\n%s", got)
	}
}

func TestWorstInputsAreAsLongAsTheySay(t *testing.T) {
	t.Parallel()
	for _, input := range worstInputs() {
		if n := len(input.text); n < worstBytes-8 || n > worstBytes+8 {
			t.Errorf("%s: %d bytes", input.name, n)
		}
	}
}
