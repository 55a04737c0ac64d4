package normalize

import (
	"bytes"
	"fmt"

	"penstock/routing/tokenizer/internal/spec"
	"penstock/routing/tokenizer/internal/unidata"
)

// Chain is the steps of a normalizer.
type Chain struct {
	steps []step
}

// step appends the normalised form of text to dst. Same says that nothing would
// change, where that is quick to find out.
type step struct {
	apply func(dst, text []byte) []byte
	same  func(text []byte) bool
	drops bool // may take characters away
}

// Scratch is the buffers that a text goes through; for one text at a time.
type Scratch struct {
	buffers [2][]byte
}

// New makes the chain of some steps. Lower case is by the rules of a version.
func New(steps []spec.Normalizer, v unidata.Version) (*Chain, error) {
	c := &Chain{}
	for i := range steps {
		if steps[i].Kind == "BertNormalizer" {
			c.steps = append(c.steps, newBert(&steps[i], v)...)
			continue
		}
		s, err := newStep(&steps[i], v)
		if err != nil {
			return nil, err
		}
		c.steps = append(c.steps, s)
	}
	return c, nil
}

func newStep(n *spec.Normalizer, v unidata.Version) (step, error) {
	switch n.Kind {
	case "NFC":
		return step{apply: composeRest, same: func(text []byte) bool { return unidata.IsNFC(text) == len(text) }}, nil
	case "NFD":
		return step{apply: unidata.NFD, same: ascii}, nil
	case "NFKC":
		return step{apply: unidata.NFKC, same: ascii}, nil
	case "NFKD":
		return step{apply: unidata.NFKD, same: ascii}, nil
	case "Lowercase":
		return step{apply: unidata.Classes(v).LowerText}, nil
	case "StripAccents":
		return step{apply: dropAccents, same: ascii, drops: true}, nil
	case "Nmt":
		return step{apply: nmt, drops: true}, nil
	case "Strip":
		return step{apply: strip(n.Left, n.Right), drops: true}, nil
	case "Prepend":
		return step{apply: prependText([]byte(n.Text))}, nil
	case "Replace":
		return newReplace(n)
	case "Precompiled":
		rules, err := newCharsmap(n.Charsmap)
		if err != nil {
			return step{}, fmt.Errorf("%w: normalizer: %w", spec.ErrInvalid, err)
		}
		return step{apply: rules.apply, drops: true}, nil
	}
	return step{}, spec.Unsupported("normalizer", n.Kind)
}

// composeRest composes what the quick check does not vouch for.
func composeRest(dst, text []byte) []byte {
	good := unidata.IsNFC(text)
	return unidata.NFC(append(dst, text[:good]...), text[good:])
}

// Empty says that no text is changed.
func (c *Chain) Empty() bool { return len(c.steps) == 0 }

// Drops says whether the beginning of a text may be taken away.
func (c *Chain) Drops() bool {
	for i := range c.steps {
		if c.steps[i].drops {
			return true
		}
	}
	return false
}

// Apply normalises text. The result is text itself when nothing changes, else it is
// good until the next call with the same scratch. Empty text stays empty.
func (c *Chain) Apply(s *Scratch, text []byte) []byte {
	free := 0
	for i := range c.steps {
		if same := c.steps[i].same; same != nil && same(text) {
			continue
		}
		s.buffers[free] = c.steps[i].apply(s.buffers[free][:0], text)
		text = s.buffers[free]
		free = 1 - free
	}
	return text
}

// Trim lets go of buffers that a long text left large.
func (s *Scratch) Trim(limit int) {
	for i := range s.buffers {
		if cap(s.buffers[i]) > limit {
			s.buffers[i] = nil
		}
	}
}

func ascii(text []byte) bool {
	for _, b := range text {
		if b >= 0x80 {
			return false
		}
	}
	return true
}

// newReplace makes a step that replaces a text. Regular expressions are known by how
// they are written.
func newReplace(n *spec.Normalizer) (step, error) {
	pattern, content := []byte(n.Pattern.Text), []byte(n.Text)
	if n.Pattern.Regex {
		run, known := knownRuns()[n.Pattern.Text]
		if !known {
			return step{}, spec.Unsupported("normalizer Replace pattern", n.Pattern.Text)
		}
		return step{apply: func(dst, text []byte) []byte { return run.replace(dst, text, content) }, drops: len(content) == 0}, nil
	}
	if len(pattern) == 0 {
		return step{}, spec.Unsupported("normalizer Replace pattern", "")
	}
	return step{
		apply: func(dst, text []byte) []byte {
			for {
				at := bytes.Index(text, pattern)
				if at < 0 {
					return append(dst, text...)
				}
				dst = append(append(dst, text[:at]...), content...)
				text = text[at+len(pattern):]
			}
		},
		same:  func(text []byte) bool { return !bytes.Contains(text, pattern) },
		drops: len(content) == 0,
	}, nil
}

func prependText(prefix []byte) func(dst, text []byte) []byte {
	return func(dst, text []byte) []byte {
		if len(text) == 0 {
			return dst
		}
		return append(append(dst, prefix...), text...)
	}
}
