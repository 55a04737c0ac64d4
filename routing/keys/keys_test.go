package keys

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"penstock/routing/chattemplate"
	"penstock/routing/tokenizer"
)

func chat(turns ...string) []byte {
	var b bytes.Buffer
	for i, text := range turns {
		fmt.Fprintf(&b, "<|start|>%s<|middle|>%s<|end|>", [...]string{"user ", "assistant "}[i%2], text)
	}
	return append(b.Bytes(), "<|start|>assistant "...)
}

func prompt(text []byte) *chattemplate.Prompt {
	return &chattemplate.Prompt{Status: chattemplate.Exact, Parts: []chattemplate.Part{{Text: text}}}
}

func words(rng *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "w%d ", rng.IntN(500))
	}
	return b.String()
}

// The memo never changes a key: conversations grow, branch, are edited and come again
// in other namespaces, with a memo so small that it always forgets.
func TestKnownPromptHasTheKeysOfANewOne(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{0, 64 << 10, 1 << 20, 64 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(1, uint64(size)))
			k := fakeKeyer(Options{BlockSize: 1 + rng.IntN(20), MemoBytes: size})
			w := k.NewWorker()
			var got Keys
			known := 0
			for range 60 {
				turns := []string{words(rng, rng.IntN(400))}
				for range rng.IntN(20) {
					if rng.IntN(6) == 0 {
						turns[rng.IntN(len(turns))] = words(rng, 10)
					}
					turns = append(turns, words(rng, rng.IntN(150)))
					namespace := uint64(rng.IntN(3))
					p := prompt(chat(turns...))
					p.Parts[0].AddSpecial = rng.IntN(4) == 0
					if rng.IntN(5) == 0 { // ends at a boundary
						p.Parts[0].Text = append(p.Parts[0].Text, "<|end|>"...)
					}
					p.Parts[0].PlainText = rng.IntN(8) == 0
					if err := w.Key(p, namespace, &got); err != nil {
						t.Fatal(err)
					}
					ids, _ := new(fakeEncoder).Append(nil, p.Parts[0].Text, mode(&p.Parts[0]))
					if want := cold(ids, k.BlockSize(), namespace); !slices.Equal(got.Blocks, want) || got.Tokens != len(ids) {
						t.Fatalf("%d tokens in %d blocks, want %d in %d", got.Tokens, len(got.Blocks), len(ids), len(want))
					}
					if got.KnownBytes+got.NewBytes != len(p.Parts[0].Text) || got.KnownTokens+got.NewTokens != got.Tokens {
						t.Fatalf("%+v does not add up to %d bytes", got, len(p.Parts[0].Text))
					}
					known += got.KnownBytes
				}
			}
			if (known > 0) != (size > 0) {
				t.Errorf("%d bytes were known with a memo of %d", known, size)
			}
			if _, bytes := k.Memo(); bytes > size {
				t.Errorf("the memo has %d bytes, limit %d", bytes, size)
			}
		})
	}
}

func TestNextTurnPaysForItsNewText(t *testing.T) {
	t.Parallel()
	k := fakeKeyer(Options{BlockSize: 16, MemoBytes: 1 << 20})
	w := k.NewWorker()
	rng := rand.New(rand.NewPCG(2, 2))
	turns := []string{}
	var got Keys
	for i := range 30 {
		turns = append(turns, words(rng, 200), words(rng, 200))
		text := chat(turns...)
		if err := w.Key(prompt(text), 7, &got); err != nil {
			t.Fatal(err)
		}
		fresh := len(turns[len(turns)-1]) + len(turns[len(turns)-2]) + 3*minSpacing
		if i > 0 && got.NewBytes > fresh {
			t.Errorf("turn %d tokenized %d bytes of %d, more than its new text of about %d", i, got.NewBytes, len(text), fresh)
		}
	}
}

func TestNamespacesShareNothing(t *testing.T) {
	t.Parallel()
	k := fakeKeyer(Options{BlockSize: 4, MemoBytes: 1 << 20})
	w := k.NewWorker()
	text := chat(strings.Repeat("one two ", 100), "three")
	var a, b Keys
	for namespace, dst := range map[uint64]*Keys{Namespace("m", "", "a"): &a, Namespace("m", "", "b"): &b} {
		if err := w.Key(prompt(text), namespace, dst); err != nil {
			t.Fatal(err)
		}
		if dst.KnownBytes != 0 {
			t.Error("one namespace knows what only the other was asked")
		}
	}
	for i := range a.Blocks {
		if a.Blocks[i] == b.Blocks[i] {
			t.Fatalf("block %d is the same in both", i)
		}
	}
}

func TestNamespaceKeepsItsPartsApart(t *testing.T) {
	t.Parallel()
	seen := map[uint64]string{}
	for _, parts := range [][3]string{
		{}, {"ab"}, {"a", "b"}, {"", "ab"}, {"", "a", "b"}, {"a", "", "b"}, {"", "", "ab"}, {"b", "a"},
	} {
		n := Namespace(parts[0], parts[1], parts[2])
		if other, taken := seen[n]; taken {
			t.Errorf("%q and %s have one namespace", parts, other)
		}
		seen[n] = fmt.Sprintf("%q", parts)
	}
}

func TestIDsAndTextFollowEachOther(t *testing.T) {
	t.Parallel()
	k := fakeKeyer(Options{BlockSize: 3, MemoBytes: 1 << 20})
	w := k.NewWorker()
	long := chat(strings.Repeat("one two ", 100))
	p := &chattemplate.Prompt{Status: chattemplate.Exact, Parts: []chattemplate.Part{
		{Text: long, AddSpecial: true}, {IDs: []uint32{5, 6, 7, 8}}, {Text: []byte("and this")},
	}}
	var want, got Keys
	var e fakeEncoder
	ids, _ := e.Append(nil, long, tokenizer.AddSpecial)
	ids, _ = e.Append(append(ids, 5, 6, 7, 8), []byte("and this"), 0)
	FromTokens(ids, 3, 9, &want)
	for range 2 {
		if err := w.Key(p, 9, &got); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Blocks, want.Blocks) || got.Tokens != want.Tokens {
			t.Fatalf("got %d tokens, want %d", got.Tokens, want.Tokens)
		}
	}
	if got.KnownBytes == 0 {
		t.Error("the second time nothing was known")
	}
}

func TestWorkDoneBeforeTheTimeWasUpIsKept(t *testing.T) {
	t.Parallel()
	expiring := &fakeEncoder{err: tokenizer.ErrExpired, left: 3}
	k, err := newKeyer(func() encoder { return expiring }, Options{BlockSize: 4, MemoBytes: 1 << 20, Secret: make([]byte, SecretSize)})
	if err != nil {
		t.Fatal(err)
	}
	w := k.NewWorker()
	text := chat(strings.Repeat("one two ", 100), strings.Repeat("three ", 100), strings.Repeat("four ", 100))
	var got Keys
	if err := w.Key(prompt(text), 1, &got); !errors.Is(err, tokenizer.ErrExpired) {
		t.Fatalf("got %v", err)
	}
	expiring.err = nil
	if err := w.Key(prompt(text), 1, &got); err != nil {
		t.Fatal(err)
	}
	if got.KnownBytes == 0 {
		t.Error("the second request began from nothing")
	}
}

func TestWorkersShareTheMemo(t *testing.T) {
	t.Parallel()
	k := fakeKeyer(Options{BlockSize: 16, MemoBytes: 256 << 10})
	var group sync.WaitGroup
	for seed := range uint64(4) {
		group.Go(func() {
			w := k.NewWorker()
			rng := rand.New(rand.NewPCG(seed%2, 0)) // two pairs ask the same
			var got Keys
			turns := []string{}
			for range 40 {
				turns = append(turns, words(rng, 100))
				text := chat(turns...)
				if err := w.Key(prompt(text), 1, &got); err != nil {
					t.Error(err)
				}
				ids, _ := new(fakeEncoder).Append(nil, text, 0)
				if !slices.Equal(got.Blocks, cold(ids, 16, 1)) {
					t.Error("keys differ from those of a cold computation")
				}
			}
		})
	}
	group.Wait()
}

func TestBlocksAtTheEndOfAPromptThatGoesOnAreLeftOut(t *testing.T) {
	t.Parallel()
	k := fakeKeyer(Options{BlockSize: 4})
	w := k.NewWorker()
	text := []byte(strings.Repeat("one two ", 20)) // 40 tokens
	for status, want := range map[chattemplate.Status]int{chattemplate.Exact: 10, chattemplate.Approximate: 8} {
		p := prompt(text)
		p.Status = status
		var got Keys
		if err := w.Key(p, 1, &got); err != nil || len(got.Blocks) != want {
			t.Errorf("%s: %d blocks, want %d (%v)", status, len(got.Blocks), want, err)
		}
	}
}

func TestFromTextSharesWholeBlocks(t *testing.T) {
	t.Parallel()
	var a, b Keys
	FromText([]byte(strings.Repeat("x", 1000)+"a"), 16, 1, &a)
	FromText([]byte(strings.Repeat("x", 1000)+"b and more"), 16, 1, &b)
	if len(a.Blocks) != 1001/64 || !slices.Equal(a.Blocks, b.Blocks[:len(a.Blocks)]) {
		t.Errorf("%d and %d blocks", len(a.Blocks), len(b.Blocks))
	}
	FromText([]byte(strings.Repeat("x", 1000)), 16, 2, &b)
	if a.Blocks[0] == b.Blocks[0] {
		t.Error("another namespace has the same keys")
	}
}

func TestChainTakesBlocksOfAnySize(t *testing.T) {
	t.Parallel()
	ids := make([]uint32, 600)
	seen := map[uint64]int{}
	for n := range ids {
		key := Chain(1, ids[:n])
		if other, taken := seen[key]; taken {
			t.Fatalf("%d and %d zero ids have one key", n, other)
		}
		seen[key] = n
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{
		{}, {BlockSize: -1}, {BlockSize: 5000}, {BlockSize: 16, MemoBytes: 1}, {BlockSize: 16, MemoBytes: 1, Secret: []byte("short")},
	} {
		if _, err := newKeyer(nil, o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

func TestKeyingKnownTextDoesNotAllocate(t *testing.T) {
	k := fakeKeyer(Options{BlockSize: 16, MemoBytes: 8 << 20})
	w := k.NewWorker()
	rng := rand.New(rand.NewPCG(3, 3))
	turns := []string{}
	for range 50 {
		turns = append(turns, words(rng, 200))
	}
	p := prompt(chat(turns...))
	var got Keys
	run := func() {
		if err := w.Key(p, 1, &got); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if n := testing.AllocsPerRun(100, run); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// A conversation of 400 KiB in 200 messages, all known but the last words.
func BenchmarkKnownConversation(b *testing.B) {
	k := fakeKeyer(Options{BlockSize: 16, MemoBytes: 64 << 20})
	w := k.NewWorker()
	rng := rand.New(rand.NewPCG(3, 3))
	turns := []string{}
	for range 200 {
		turns = append(turns, words(rng, 420))
	}
	p := prompt(chat(turns...))
	var got Keys
	b.SetBytes(int64(len(p.Parts[0].Text)))
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Key(p, 1, &got); err != nil {
			b.Fatal(err)
		}
	}
}
