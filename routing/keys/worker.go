package keys

import (
	"slices"

	"penstock/routing/chattemplate"
	"penstock/routing/internal/gmac"
	"penstock/routing/tokenizer"
)

// Worker keys prompts; it holds the scratch memory of one goroutine at a time.
type Worker struct {
	// Expired, when set, is asked while text is tokenized; once it says true, Key
	// ends with tokenizer.ErrExpired. What was worked out until then is remembered.
	Expired func() bool

	k       *Keyer
	encoder encoder
	scratch gmac.Scratch
	ends    []int
	cuts    []cut
	lineage []*place
	ids     []uint32
	chain   chain
}

// cut is a place of the prompt where the memo may be asked: the end of text[:end] of
// its first part.
type cut struct {
	end int
	at  tag
}

// NewWorker makes a Worker of k.
func (k *Keyer) NewWorker() *Worker {
	w := &Worker{k: k, encoder: k.encoders()}
	if e, ok := w.encoder.(*tokenizer.Encoder); ok {
		e.Expired = w.expired
	}
	return w
}

func (w *Worker) expired() bool { return w.Expired != nil && w.Expired() }

// unsure is how many tokens at the end of a prompt that goes on differently may be
// others in the engine: what follows can join with the last word.
const unsure = 8

// Key makes the keys of a prompt in dst; of one that is not exact, those of the blocks
// that what follows cannot change. The errors are those of
// tokenizer.Encoder.Append; dst is not to be used then.
func (w *Worker) Key(p *chattemplate.Prompt, namespace uint64, dst *Keys) error {
	dst.Reset()
	w.chain = chain{size: w.k.blockSize, parent: namespace, tail: w.chain.tail[:0], blocks: dst.Blocks}
	w.cuts = w.cuts[:0]
	at := position{}
	if w.k.memo != nil && len(p.Parts) > 0 {
		w.cutUp(&p.Parts[0], namespace)
		at = w.recall(dst)
	}
	err := w.encode(p.Parts, at, dst)
	dst.Blocks, dst.Tokens = w.chain.blocks, w.chain.tokens
	if p.Status != chattemplate.Exact {
		dst.Blocks = dst.Blocks[:min(len(dst.Blocks), max(0, dst.Tokens-unsure)/w.k.blockSize)]
	}
	dst.NewTokens = dst.Tokens - dst.KnownTokens
	w.trim()
	return err
}

func mode(p *chattemplate.Part) tokenizer.Mode {
	var m tokenizer.Mode
	if p.AddSpecial {
		m |= tokenizer.AddSpecial
	}
	if p.PlainText {
		m |= tokenizer.PlainText
	}
	return m
}

// position is a place in the first part: where encoding goes on.
type position struct {
	offset int
	cut    int // index of the next cut
	before tag // of the place, if there is one
}

// minSpacing is the least text between two places. Prompts that share a text share its
// places, because where they are depends on the text alone.
const minSpacing = 256

// cutUp finds the places of the prompt and tags them. Only the first part has any:
// further parts are the short ends of prompts that are encoded in pieces.
func (w *Worker) cutUp(p *chattemplate.Part, namespace uint64) {
	if p.PlainText {
		return // typed special tokens are no boundaries then
	}
	t := root(namespace, byte(mode(p)))
	w.ends = w.encoder.Boundaries(w.ends[:0], p.Text)
	last := 0
	for _, end := range w.ends {
		if end-last < minSpacing {
			continue
		}
		t = w.k.tags.Next(&w.scratch, t, p.Text[last:end])
		w.cuts = append(w.cuts, cut{end, t})
		last = end
	}
}

// recall finds the last place that is known, with all places before it, and takes over
// what the memo has about them.
func (w *Worker) recall(dst *Keys) position {
	for i := len(w.cuts) - 1; i >= 0; i-- {
		c := &w.cuts[i]
		if !w.trace(c.at) {
			continue
		}
		for _, p := range slices.Backward(w.lineage) {
			w.chain.blocks = append(w.chain.blocks, p.blocks...)
		}
		last := w.lineage[0]
		w.chain.parent, w.chain.tokens = last.parent, last.tokens
		w.chain.tail = append(w.chain.tail, last.tail...)
		dst.KnownTokens, dst.KnownBytes = last.tokens, c.end
		clear(w.lineage)
		return position{offset: c.end, cut: i + 1, before: c.at}
	}
	return position{}
}

// trace collects the place with a tag and those before it, last first. A place whose
// predecessor was forgotten is of no use.
func (w *Worker) trace(t tag) bool {
	w.lineage = w.lineage[:0]
	for {
		p := w.k.memo.get(t)
		if p == nil {
			return false
		}
		w.lineage = append(w.lineage, p)
		if p.first {
			return true
		}
		t = p.before
	}
}

// encode tokenizes the prompt from a position on, place by place, and remembers each.
func (w *Worker) encode(parts []chattemplate.Part, at position, dst *Keys) error {
	for i := range parts {
		p := &parts[i]
		if len(p.IDs) > 0 {
			w.chain.add(p.IDs)
			continue
		}
		m := mode(p)
		for ; i == 0 && at.cut < len(w.cuts); at.cut++ {
			c := &w.cuts[at.cut]
			blocks := len(w.chain.blocks)
			if err := w.text(p.Text[at.offset:c.end], m|tokenizer.Unfinished, at.offset, dst); err != nil {
				return err
			}
			w.remember(c.at, at, blocks)
			at.offset, at.before = c.end, c.at
		}
		if err := w.text(p.Text[at.offset:], m, at.offset, dst); err != nil {
			return err
		}
		at.offset = 0
	}
	return nil
}

// text tokenizes a stretch of a part that begins at offset.
func (w *Worker) text(text []byte, m tokenizer.Mode, offset int, dst *Keys) error {
	if offset > 0 {
		m |= tokenizer.Continuation
	}
	var err error
	w.ids, err = w.encoder.Append(w.ids[:0], text, m)
	if err != nil {
		return err
	}
	dst.NewBytes += len(text)
	w.chain.add(w.ids)
	return nil
}

// remember puts the place that the chain has just come to into the memo.
func (w *Worker) remember(t tag, at position, blocks int) {
	w.k.memo.put(t, place{
		before: at.before, first: at.offset == 0,
		parent: w.chain.parent, tokens: w.chain.tokens,
		tail: slices.Clone(w.chain.tail), blocks: slices.Clone(w.chain.blocks[blocks:]),
	})
}

// Scratch memory beyond these is given back after a large prompt.
const (
	maxKeptIDs  = 1 << 18
	maxKeptCuts = 1 << 14
)

func (w *Worker) trim() {
	if cap(w.ids) > maxKeptIDs {
		w.ids = nil
	}
	if cap(w.cuts) > maxKeptCuts || cap(w.ends) > maxKeptCuts {
		w.cuts, w.ends = nil, nil
	}
	w.chain.blocks = nil
}
