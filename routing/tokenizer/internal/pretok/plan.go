package pretok

import (
	"unicode/utf8"

	"penstock/routing/tokenizer/internal/runeset"
	"penstock/routing/tokenizer/internal/spec"
	"penstock/routing/tokenizer/internal/split"
	"penstock/routing/tokenizer/internal/unidata"
)

// Plan is a pre-tokenizer.
type Plan struct {
	// Fused is the scanner of a known family, when that is all there is to do.
	Fused split.Splitter
	// Family is its name, else the kinds of the steps; none for no pre-tokenizer.
	Family string
	// ByteLevel says that the model merges bytes.
	ByteLevel bool
	// First says that the first piece of a prompt is treated differently.
	First bool

	steps []step
}

// step cuts each piece of in and appends what it becomes to out.
type step func(out, in *Pieces)

// Pieces is text cut at Ends. The pieces follow each other without gaps.
type Pieces struct {
	Text []byte
	Ends []int

	start bool // the first piece is where the prompt begins
	spans []span
	ends  [64]int
}

// New makes the plan of some steps.
func New(steps []spec.PreTokenizer, v unidata.Version) (*Plan, error) {
	p := &Plan{Family: "none"}
	if p.fuse(steps, v) {
		return p, nil
	}
	for i := range steps {
		if err := p.add(&steps[i], v, i == len(steps)-1); err != nil {
			return nil, err
		}
		if i == 0 {
			p.Family = steps[i].Kind
		} else {
			p.Family += "+" + steps[i].Kind
		}
	}
	return p, nil
}

// gpt2Pattern is the expression that ByteLevel has built in.
const gpt2Pattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// fuse recognises a family: Splits by its expressions and then ByteLevel, or ByteLevel
// with its own expression.
func (p *Plan) fuse(steps []spec.PreTokenizer, v unidata.Version) bool {
	if len(steps) == 0 {
		return false
	}
	last := &steps[len(steps)-1]
	if last.Kind != "ByteLevel" || last.AddPrefixSpace {
		return false
	}
	var patterns []string
	for i := range steps[:len(steps)-1] {
		s := &steps[i]
		if s.Kind != "Split" || !s.Pattern.Regex || !covers(s, len(steps) == 2) {
			return false
		}
		patterns = append(patterns, s.Pattern.Text)
	}
	if last.UseRegex {
		if len(patterns) > 0 {
			return false
		}
		patterns = []string{gpt2Pattern}
	}
	family, known := split.Known(patterns)
	if !known {
		return false
	}
	p.Fused, p.ByteLevel = newSplitter(family, v), true
	p.Family = string(family)
	return true
}

// covers says whether a Split keeps all matches as pieces. An expression alone matches
// everything, so that removing what does not match removes nothing.
func covers(s *spec.PreTokenizer, alone bool) bool {
	return s.Behavior == "Isolated" && !s.Invert || alone && s.Behavior == "Removed" && s.Invert
}

func newSplitter(family split.Family, v unidata.Version) split.Splitter {
	splitter, found := split.New(family, v)
	if !found {
		panic("BUG: a known family without a scanner")
	}
	return splitter
}

// add appends a step.
func (p *Plan) add(s *spec.PreTokenizer, v unidata.Version, last bool) error {
	switch s.Kind {
	case "ByteLevel":
		return p.addByteLevel(s, v, last)
	case "Split":
		return p.addSplit(s, v)
	case "Metaspace":
		p.First = p.First || s.Prepend == "first"
		p.steps = append(p.steps, metaspace(s))
	case "Whitespace":
		p.steps = append(p.steps, words)
	case "WhitespaceSplit":
		p.steps = append(p.steps, byCharacter(runeset.Space().Has, "Removed"))
	case "BertPreTokenizer":
		p.steps = append(p.steps,
			byCharacter(runeset.Space().Has, "Removed"),
			byCharacter(runeset.Punctuation().Has, "Isolated"))
	case "Punctuation":
		p.steps = append(p.steps, byCharacter(runeset.Punctuation().Has, s.Behavior))
	case "Digits":
		behavior := "Contiguous"
		if s.Individual {
			behavior = "Isolated"
		}
		p.steps = append(p.steps, byCharacter(runeset.Numeric().Has, behavior))
	case "Delimiter":
		delimiter, _ := utf8.DecodeRuneInString(s.Delimiter)
		p.steps = append(p.steps, byCharacter(func(r rune) bool { return r == delimiter }, "Removed"))
	case "FixedLength":
		p.steps = append(p.steps, fixedLength(s.Length))
	default:
		return spec.Unsupported("pre_tokenizer", s.Kind)
	}
	return nil
}

// addByteLevel appends ByteLevel. What followed it would see its notation for bytes
// instead of text, which is not done here.
func (p *Plan) addByteLevel(s *spec.PreTokenizer, v unidata.Version, last bool) error {
	if !last {
		return spec.Unsupported("pre_tokenizer ByteLevel", "not the last step")
	}
	p.ByteLevel = true
	if s.AddPrefixSpace {
		p.steps = append(p.steps, prefixSpace)
	}
	if s.UseRegex {
		p.steps = append(p.steps, scan(newSplitter(split.GPT2, v)))
	}
	return nil
}

// addSplit appends a Split at a text or at the expression of a family.
func (p *Plan) addSplit(s *spec.PreTokenizer, v unidata.Version) error {
	if !s.Pattern.Regex {
		if s.Pattern.Text == "" {
			return spec.Unsupported("pre_tokenizer Split pattern", "")
		}
		p.steps = append(p.steps, byText([]byte(s.Pattern.Text), s.Behavior, s.Invert))
		return nil
	}
	family, known := split.Known([]string{s.Pattern.Text})
	if !known {
		return spec.Unsupported("pre_tokenizer Split pattern", s.Pattern.Text)
	}
	if !covers(s, true) {
		return spec.Unsupported("pre_tokenizer Split behavior", s.Behavior)
	}
	p.steps = append(p.steps, scan(newSplitter(family, v)))
	return nil
}

// Cut cuts a text; start says that the prompt begins with it. The result is good until
// the next call with the same buffers, and with more than two steps it is in either.
func (p *Plan) Cut(a, b *Pieces, text []byte, start Start) *Pieces {
	a.Text, a.Ends = append(a.Text[:0], text...), a.Ends[:0]
	a.start = start == Begins
	if len(text) > 0 {
		a.Ends = append(a.Ends, len(text))
	}
	for _, step := range p.steps {
		b.Text, b.Ends, b.start = b.Text[:0], b.Ends[:0], a.start
		step(b, a)
		a, b = b, a
	}
	return a
}

// Start says where in a prompt a text is.
type Start uint8

// The two places.
const (
	Inside Start = iota
	Begins
)

// Steps is the number of steps.
func (p *Plan) Steps() int { return len(p.steps) }

// Trim lets go of buffers that a long text left large.
func (p *Pieces) Trim(limit int) {
	if cap(p.Text) > limit {
		p.Text = nil
	}
	if cap(p.Ends)*8 > limit {
		p.Ends = nil
	}
	if cap(p.spans)*24 > limit {
		p.spans = nil
	}
}
