package oracle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"penstock/bench/oracle/corpus"
	"penstock/routing/tokenizer"
)

// setUp is the cache, its texts and its models; it skips where setup.sh has not run.
// $PENSTOCK_ORACLE_MODELS (names with commas) narrows the models.
func setUp(t *testing.T) (Cache, []Model, []corpus.Set) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: takes minutes, left out with -short")
	}
	cache, err := Find(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	models, err := cache.Models()
	if errors.Is(err, ErrNotSetUp) {
		t.Skipf("SKIPPED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	sets, err := cache.Texts()
	if errors.Is(err, ErrNotSetUp) {
		t.Skipf("SKIPPED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if only := os.Getenv("PENSTOCK_ORACLE_MODELS"); only != "" {
		names := strings.Split(only, ",")
		models = slices.DeleteFunc(models, func(m Model) bool { return !slices.Contains(names, m.Name) })
	}
	return cache, models, sets
}

// load loads our model; a model that may be refused skips the test when it is.
func load(t *testing.T, m Model) *tokenizer.Model {
	t.Helper()
	ours, err := m.Load()
	if m.Optional && errors.Is(err, tokenizer.ErrUnsupported) {
		t.Skipf("refused, as it may be: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ours
}

// TestExact wants the ids of the official tokenizers for every text of the cache: by
// every oracle of a model, in every mode.
func TestExact(t *testing.T) {
	cache, models, sets := setUp(t)
	var table strings.Builder
	for _, m := range models {
		t.Run(m.Name, func(t *testing.T) {
			ours := load(t, m)
			if m.StandIn != "" {
				t.Logf("a stand-in: %s", m.StandIn)
			}
			var compared, wrong int
			for _, set := range sets {
				t.Run(set.Name, func(t *testing.T) {
					n, bad := checkSet(t, cache, m, ours, set)
					compared += n
					wrong += bad
				})
			}
			fmt.Fprintf(&table, "%-16s %8d encodings compared, %d differ\n", m.Name, compared, wrong)
		})
	}
	t.Logf("by the oracles that rule:\n%s", table.String())
}

// checkSet compares one set, and returns how many encodings it compared with those that
// rule, and how many of them differ.
func checkSet(t *testing.T, cache Cache, m Model, ours *tokenizer.Model, set corpus.Set) (compared, differ int) {
	expected, err := cache.Expected(m.Name, set.Name)
	if errors.Is(err, ErrNotSetUp) {
		t.Skipf("SKIPPED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	encoder := ours.NewEncoder()
	for _, e := range expected {
		if len(e.IDs) != len(set.Texts) {
			t.Fatalf("%s %s: ids of %d texts, want %d: run setup.sh again", e.Oracle, e.Mode, len(e.IDs), len(set.Texts))
		}
		wrong := differences(t, encoder, set, e)
		if m.rules(e.Oracle) {
			compared += len(e.IDs)
			differ += len(wrong)
		}
		if len(wrong) == 0 {
			continue
		}
		if !m.rules(e.Oracle) {
			t.Logf("%s %s: %d of %d texts differ; the engine's own class rules here", e.Oracle, e.Mode, len(wrong), len(set.Texts))
			continue
		}
		t.Errorf("%s %s: %d of %d texts differ", e.Oracle, e.Mode, len(wrong), len(set.Texts))
		reproduce(t, cache, m, ours, set, e, wrong)
	}
	return compared, differ
}

// differences lists the texts that ours encodes in another way.
func differences(t *testing.T, encoder *tokenizer.Encoder, set corpus.Set, e Expected) []int {
	t.Helper()
	var wrong []int
	var got []uint32
	for i, text := range set.Texts {
		var err error
		if got, err = encoder.Append(got[:0], text, e.Flags()); err != nil {
			t.Fatalf("text %d: %v", i, err)
		}
		if !slices.Equal(got, e.IDs[i]) {
			wrong = append(wrong, i)
		}
	}
	return wrong
}

// rules says whether an oracle decides what is right for a model. Where a config.json
// names the model's type it is transformers, because that is what engines call;
// without one, tokenizer.json counts as it is.
func (m Model) rules(oracle string) bool {
	switch oracle {
	case "auto":
		return m.Type != ""
	case "hf", "node":
		return m.Type == ""
	}
	return true
}

// reproduce prints the shortest of the wrong texts, made shorter still.
func reproduce(t *testing.T, cache Cache, m Model, ours *tokenizer.Model, set corpus.Set, e Expected, wrong []int) {
	t.Helper()
	oracle := e.Oracle
	if oracle == "node" { // the same library; only Python serves
		oracle = "hf"
	}
	live, err := cache.Serve(t.Context(), ".", Current, m, oracle, e.Mode)
	if err != nil {
		t.Error(err)
		return
	}
	defer live.Close()
	slices.SortStableFunc(wrong, func(a, b int) int { return len(set.Texts[a]) - len(set.Texts[b]) })
	encoder := ours.NewEncoder()
	differs := func(text []byte) bool {
		want, err := live.Encode(text)
		if err != nil {
			t.Error(err)
			return false
		}
		got, err := encoder.Append(nil, text, e.Flags())
		return err != nil || !slices.Equal(got, want)
	}
	for _, i := range wrong[:min(len(wrong), 4)] {
		text := set.Texts[i]
		if !differs(text) {
			t.Errorf("text %d (%d bytes) no longer differs: the difference is in the state of the encoder", i, len(text))
			continue
		}
		text = Shrink(text, 600, differs)
		want, _ := live.Encode(text)
		got, err := encoder.Append(nil, text, e.Flags())
		t.Errorf("text %d: %+q (%q)\n got %v %v\nwant %v", i, text, text, got, err, want)
	}
}

// TestOneWrongIDIsNoticed keeps TestExact able to fail.
func TestOneWrongIDIsNoticed(t *testing.T) {
	cache, models, sets := setUp(t)
	for _, m := range models {
		if m.Name != "gpt2" {
			continue
		}
		encoder := load(t, m).NewEncoder()
		for _, set := range sets {
			if set.Name != "quotes" {
				continue
			}
			expected, err := cache.Expected(m.Name, set.Name)
			if err != nil {
				t.Skipf("SKIPPED: %v", err)
			}
			expected[0].IDs[77] = slices.Concat(expected[0].IDs[77], []uint32{1})
			if wrong := differences(t, encoder, set, expected[0]); !slices.Equal(wrong, []int{77}) {
				t.Errorf("noticed %v, want text 77 only", wrong)
			}
		}
	}
}

// TestScriptsAreThere keeps the skipped tests honest: what they need lies here.
func TestScriptsAreThere(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"setup.sh", "encode.py", "encode.mjs", "build_models.py", "sources.lock"} {
		if _, err := os.Stat(filepath.Join(".", name)); err != nil {
			t.Error(err)
		}
	}
}

func TestShrinkFindsTheOnlyCulprit(t *testing.T) {
	t.Parallel()
	text := []byte(strings.Repeat("abc中", 300) + "é" + strings.Repeat("x", 99) + "😀" + "zzz")
	got := Shrink(text, 2000, func(b []byte) bool {
		return strings.Contains(string(b), "é") && strings.Contains(string(b), "😀")
	})
	if string(got) != "é😀" {
		t.Errorf("shrunk to %q", got)
	}
}
