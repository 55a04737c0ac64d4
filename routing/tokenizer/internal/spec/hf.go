package spec

import (
	"encoding/json"
	"unicode/utf8"
)

// parseTokenizer reads a tokenizer.json. Truncation and padding in it are not read:
// transformers turns both off for a call that does not ask for them, and engines do
// not. The decoder matters for output only.
func parseTokenizer(data []byte, exact bool) (*Tokenizer, error) {
	if !utf8.Valid(data) {
		return nil, Invalid("not UTF-8")
	}
	t := &Tokenizer{Format: "tokenizer.json", Added: make([][]AddedToken, 1)}
	r := &reader{data: data, exact: exact}
	err := r.object(func(key string) error { return t.field(r, key) })
	if err != nil {
		return nil, err
	}
	if r.next(); r.at != len(data) {
		return nil, r.bad("more after the end")
	}
	if t.Model.Kind == "" {
		return nil, Invalid("no model")
	}
	return t, nil
}

// field reads one part of the file.
func (t *Tokenizer) field(r *reader, key string) (err error) {
	if key == "model" {
		t.Model, err = r.readModel()
		return err
	}
	data, err := r.raw()
	if err != nil {
		return err
	}
	switch key {
	case "version":
		if string(data) != `"1.0"` {
			err = Unsupported("version", string(data))
		}
	case "truncation", "padding", "decoder":
	case "added_tokens":
		t.Added[0], err = addedTokens(data)
	case "normalizer":
		t.Normalizers, err = normalizers(nil, data, 0)
	case "pre_tokenizer":
		t.Splits, err = preTokenizers(nil, data, 0)
	case "post_processor":
		t.Post, err = postProcessors(nil, data, 0)
	default:
		err = Unsupported("part", key)
	}
	return err
}

// addedToken is an entry as JSON has it, in tokenizer.json and, with its text as an
// AddedToken of Python, in tokenizer_config.json.
type addedToken struct {
	Type       string `json:"__type"`
	ID         uint32 `json:"id"` // the library gives ids anew and so do we
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	StripLeft  bool   `json:"lstrip"`
	StripRight bool   `json:"rstrip"`
	Normalized *bool  `json:"normalized"`
	Special    bool   `json:"special"`
}

func (a *addedToken) token() AddedToken {
	token := AddedToken{
		Content: a.Content, SingleWord: a.SingleWord, StripLeft: a.StripLeft, StripRight: a.StripRight,
		Normalized: !a.Special, Special: a.Special,
	}
	if a.Normalized != nil {
		token.Normalized = *a.Normalized
	}
	return token
}

// addedTokens reads the list of tokenizer.json.
func addedTokens(data []byte) ([]AddedToken, error) {
	var entries []addedToken
	if err := json.Unmarshal(data, &entries); err != nil {
		return nil, Invalid("added_tokens: %v", err)
	}
	tokens := make([]AddedToken, len(entries))
	for i := range entries {
		tokens[i] = entries[i].token()
	}
	return tokens, nil
}
