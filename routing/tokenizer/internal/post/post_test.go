package post

import (
	"errors"
	"slices"
	"testing"

	"penstock/routing/tokenizer/internal/spec"
)

func find(text string) (uint32, bool) { return 9, text == "<s>" }

func TestFrameIsThatOfTheOneStepThatAdds(t *testing.T) {
	t.Parallel()
	f := func(steps []spec.PostProcessor, before, after []uint32, want error) {
		t.Helper()
		frame, err := New(steps, find)
		if !errors.Is(err, want) {
			t.Errorf("got %v, not %v", err, want)
		}
		if err == nil && (!slices.Equal(frame.Before, before) || !slices.Equal(frame.After, after)) {
			t.Errorf("got %+v", frame)
		}
	}
	bytes := spec.PostProcessor{Kind: "ByteLevel"}
	bert := spec.PostProcessor{Kind: "BertProcessing", Before: []uint32{1}, After: []uint32{2, 3}}
	f(nil, nil, nil, nil)
	f([]spec.PostProcessor{bytes}, nil, nil, nil)
	f([]spec.PostProcessor{bytes, bert, bytes}, []uint32{1}, []uint32{2, 3}, nil)
	f([]spec.PostProcessor{bert, bert}, nil, nil, spec.ErrUnsupported)
	f([]spec.PostProcessor{{Kind: "TemplateProcessing", BeforeText: "<s>"}}, []uint32{9}, nil, nil)
	f([]spec.PostProcessor{{Kind: "TemplateProcessing", AfterText: "</s>"}}, nil, nil, spec.ErrInvalid)
}
