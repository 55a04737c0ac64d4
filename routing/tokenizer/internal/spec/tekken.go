package spec

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// tekkenConfig is the config part of a tekken.json.
type tekkenConfig struct {
	Pattern  string `json:"pattern"`
	Size     int    `json:"default_vocab_size"`
	Specials int    `json:"default_num_special_tokens"`
	Version  string `json:"version"`
}

// tekkenSpecial is one of its special tokens.
type tekkenSpecial struct {
	Rank int    `json:"rank"`
	Text string `json:"token_str"`
}

// tekkenReader reads the file of mistral_common (tokens/tokenizers/tekken.py).
type tekkenReader struct {
	*reader
	config   tekkenConfig
	specials []tekkenSpecial
	tokens   [][]byte
}

// parseTekken reads a tekken.json: special tokens have the first ids, and the bytes
// of the vocabulary's tokens the following, as many as the configured size leaves.
func parseTekken(data []byte) (*Tokenizer, error) {
	if !utf8.Valid(data) {
		return nil, Invalid("not UTF-8")
	}
	r := &tekkenReader{reader: &reader{data: data}}
	if err := r.object(r.field); err != nil {
		return nil, err
	}
	inner := r.config.Size - r.config.Specials
	if r.config.Specials < 0 || r.config.Specials > 1<<16 || inner < 1 || inner > len(r.tokens) || len(r.specials) > r.config.Specials {
		return nil, Invalid("tekken: %d of %d ids special, %d tokens in the file", r.config.Specials, r.config.Size, len(r.tokens))
	}
	v := NewVocabulary(inner, len(data)/8)
	for i, token := range r.tokens[:inner] {
		v.Add(token, uint32(r.config.Specials+i))
	}
	v.Sort()
	if v.Len() != inner {
		return nil, Invalid("tekken: a token is in the vocabulary twice")
	}
	t := &Tokenizer{Format: "tekken.json", FixedIDs: true, Model: Model{Kind: "Ranks", Vocabulary: v, IgnoreMerges: true}}
	t.Splits = []PreTokenizer{
		{Kind: "Split", Pattern: Pattern{Text: r.config.Pattern, Regex: true}, Behavior: "Isolated"},
		{Kind: "ByteLevel"},
	}
	batch, before, err := r.special()
	t.Added = [][]AddedToken{batch}
	t.Post = []PostProcessor{{Kind: "TemplateProcessing", Before: before}}
	return t, err
}

func (r *tekkenReader) field(key string) error {
	if key == "vocab" {
		return r.vocabulary()
	}
	value, err := r.raw()
	if err != nil {
		return err
	}
	switch key {
	case "config":
		if json.Unmarshal(value, &r.config) != nil {
			return Invalid("tekken: config has an unexpected type")
		}
	case "special_tokens":
		if json.Unmarshal(value, &r.specials) != nil {
			return Invalid("tekken: special_tokens has an unexpected type")
		}
	case "version", "type", "multimodal", "image", "audio", "model_settings_builder":
	default:
		return Unsupported("tekken part", key)
	}
	return nil
}

// vocabulary reads the list of tokens; their ranks are their places.
func (r *tekkenReader) vocabulary() error {
	if err := r.expect('['); err != nil {
		return err
	}
	for first := true; ; first = false {
		again, err := r.more(first, ']')
		if err != nil || !again {
			return err
		}
		var token []byte
		rank := -1
		err = r.object(func(key string) (err error) {
			switch key {
			case "rank":
				var id uint32
				id, err = r.id()
				rank = int(id)
			case "token_bytes":
				var text []byte
				if text, err = r.str(); err == nil {
					if token, err = base64.StdEncoding.AppendDecode(nil, text); err != nil {
						err = Invalid("tekken: token_bytes is not base64")
					}
				}
			case "token_str":
				_, err = r.raw()
			default:
				err = Unsupported("tekken token option", key)
			}
			return err
		})
		if err != nil {
			return err
		}
		if rank != len(r.tokens) || len(token) == 0 {
			return Invalid("tekken: token %d has rank %d and %d bytes", len(r.tokens), rank, len(token))
		}
		r.tokens = append(r.tokens, token)
	}
}

// special lists the special tokens, unnamed ones filled in as mistral_common does,
// and the ids that a text begins with.
func (r *tekkenReader) special() (batch []AddedToken, before []uint32, err error) {
	if r.specials == nil {
		if r.config.Version != "v3" && r.config.Version != "v7" {
			return nil, nil, Invalid("tekken: no special_tokens")
		}
		r.specials = oldSpecials()
	}
	batch = make([]AddedToken, r.config.Specials)
	for i := range batch {
		batch[i] = AddedToken{Content: "<SPECIAL_" + strconv.Itoa(i) + ">", ID: uint32(i), Special: true}
	}
	for i, token := range r.specials {
		if token.Rank != i || i >= len(batch) || token.Text == "" {
			return nil, nil, Invalid("tekken: special token %d has rank %d", i, token.Rank)
		}
		batch[i].Content = token.Text
		if token.Text == "<s>" {
			before = []uint32{uint32(i)}
		}
	}
	if before == nil {
		return nil, nil, Invalid("tekken: no special token <s>")
	}
	return batch, before, nil
}

// oldSpecials are those of files that do not list them.
func oldSpecials() []tekkenSpecial {
	texts := []string{
		"<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]",
		"[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]",
		"[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]",
	}
	tokens := make([]tekkenSpecial, len(texts))
	for i, text := range texts {
		tokens[i] = tekkenSpecial{i, text}
	}
	return tokens
}
