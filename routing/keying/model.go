package keying

import (
	"penstock/routing/chattemplate"
	"penstock/routing/keys"
	"penstock/routing/tokenizer"
)

// renderer makes the prompt of a request; for one goroutine at a time.
type renderer interface {
	Render(q *chattemplate.Request) *chattemplate.Prompt
	// Bound limits the working memory of each further prompt, in bytes.
	Bound(memory int)
}

// keyer makes the keys of a prompt; for one goroutine at a time.
type keyer interface {
	Key(p *chattemplate.Prompt, namespace uint64, dst *keys.Keys) error
}

var (
	_ renderer = bounded{}
	_ keyer    = (*keys.Worker)(nil)
)

// Info describes a tokenizer.
type Info = tokenizer.Info

// vocabulary is a loaded tokenizer.
type vocabulary struct {
	info tokenizer.Info
	// ids are the tokens of a whole prompt, for comparisons.
	ids func(p *chattemplate.Prompt) ([]uint32, error)
	// index makes the memo and the workers over it.
	index func(o keys.Options) (*index, error)
}

// index is a vocabulary with a memo. Expired is the deadline of the worker's user.
type index struct {
	worker func(expired func() bool) keyer
	memo   func() (places int, bytes int64)
}

// templates makes renderers of one model for one profile. Expired is the deadline of
// the worker's user, nil none.
type templates struct {
	worker  func(expired func() bool) renderer
	chats   error  // why chats cannot be rendered; nil they can
	encoder string // chattemplate.Renderer.Encoder
}

// bounded is chattemplate's renderer.
type bounded struct{ *chattemplate.Worker }

// Bound implements renderer.
func (b bounded) Bound(memory int) { b.MaxMemory = memory }

// files is what is read from disk, behind a seam for tests.
type files interface {
	// vocabulary reads and checks the tokenizer.
	vocabulary(path string, unicode int) (*vocabulary, error)
	// sources reads the files that prompts are made of; absent ones are nil.
	sources(path, template string) (chattemplate.Sources, []byte, error)
	// templates builds the renderer.
	templates(s chattemplate.Sources, p *chattemplate.Profile) (*templates, error)
}
