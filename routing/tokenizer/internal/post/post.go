// Package post knows what a prompt begins and ends with. Its functions are pure.
package post

import "penstock/routing/tokenizer/internal/spec"

// Frame is the ids around a prompt.
type Frame struct {
	Before, After []uint32
}

// New makes the frame of a post-processor. Find looks a token up by its text.
func New(steps []spec.PostProcessor, find func(text string) (uint32, bool)) (*Frame, error) {
	f := &Frame{}
	adds := 0
	for i := range steps {
		p := &steps[i]
		before, err := ids(p.Before, p.BeforeText, find)
		if err != nil {
			return nil, err
		}
		after, err := ids(p.After, p.AfterText, find)
		if err != nil {
			return nil, err
		}
		if p.Kind == "ByteLevel" {
			continue
		}
		// The library cannot do two either: the second gets more texts than it takes.
		if adds++; adds > 1 {
			return nil, spec.Unsupported("post_processor Sequence", "two steps that add tokens")
		}
		f.Before, f.After = before, after
	}
	return f, nil
}

// ids is the ids given, or that of a token by its text.
func ids(given []uint32, text string, find func(text string) (uint32, bool)) ([]uint32, error) {
	if text == "" {
		return given, nil
	}
	id, found := find(text)
	if !found {
		return nil, spec.Invalid("post_processor: no token %q", text)
	}
	return []uint32{id}, nil
}
