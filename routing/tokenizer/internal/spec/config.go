package spec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// config is what tokenizer_config.json, special_tokens_map.json and config.json say
// about a tokenizer.json beside them, as transformers 5 reads them: add_bos_token and
// add_eos_token are left alone when there is a tokenizer.json.
type config struct {
	present    bool
	class      string // tokenizer_class
	modelType  string // model_type of config.json
	hasModel   bool   // whether there is a config.json
	plainText  bool
	values     map[string]json.RawMessage
	named      []namedToken // bos_token and the like, in the order in which they are added
	extra      []AddedToken // extra_special_tokens
	decoder    []AddedToken // added_tokens_decoder, by id
	hasDecoder bool
}

// namedToken is a special token with a role.
type namedToken struct {
	role  string
	token AddedToken
	plain bool // written as text, without properties
}

// roles are the names that every tokenizer has, in the order of transformers.
func roles() []string {
	return []string{"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}
}

// readConfig reads tokenizer_config.json; data may be empty.
func readConfig(data []byte) (*config, error) {
	c := &config{values: map[string]json.RawMessage{}}
	if len(data) == 0 {
		return c, nil
	}
	c.present = true
	if err := c.object(data, c.field); err != nil {
		return nil, err
	}
	return c, nil
}

// object calls each for every key of a file.
func (c *config) object(data []byte, each func(key string, value json.RawMessage) error) error {
	if !utf8.Valid(data) {
		return Invalid("not UTF-8")
	}
	r := &reader{data: data}
	return r.object(func(key string) error {
		value, err := r.raw()
		if err != nil {
			return err
		}
		return each(key, value)
	})
}

// field reads one key of tokenizer_config.json.
func (c *config) field(key string, value json.RawMessage) error {
	c.values[key] = value
	switch {
	case null(value):
		return nil
	case key == "tokenizer_class":
		return decode(key, value, &c.class)
	case key == "split_special_tokens":
		return decode(key, value, &c.plainText)
	case key == "fix_mistral_regex" && string(value) != "false":
		return Unsupported("tokenizer_config.json option", key) // another pre_tokenizer, for some models
	case key == "added_tokens_decoder":
		return c.readDecoder(value)
	case key == "extra_special_tokens", key == "additional_special_tokens":
		return c.readExtra(key, value)
	case strings.HasSuffix(key, "_token") && (value[0] == '"' || value[0] == '{'):
		return c.name(key, value)
	}
	return nil
}

func decode(key string, value []byte, target any) error {
	if json.Unmarshal(value, target) != nil {
		return Invalid("%s has an unexpected type", key)
	}
	return nil
}

// name reads a token with a role; the later of two with the same role counts.
func (c *config) name(role string, value []byte) error {
	token, plain, err := tokenValue(role, value)
	if err != nil {
		return err
	}
	named := namedToken{role, token, plain}
	if at := c.role(role); at >= 0 {
		c.named[at] = named
		return nil
	}
	c.named = append(c.named, named)
	return nil
}

func (c *config) role(role string) int {
	return slices.IndexFunc(c.named, func(n namedToken) bool { return n.role == role })
}

// tokenValue reads a token that is a text or an AddedToken of Python.
func tokenValue(key string, value []byte) (token AddedToken, plain bool, err error) {
	if value[0] == '"' {
		var text string
		err := decode(key, value, &text)
		return AddedToken{Content: text, Special: true}, true, err
	}
	var entry addedToken
	if err := decode(key, value, &entry); err != nil {
		return AddedToken{}, false, err
	}
	return entry.token(), false, nil
}

// readDecoder reads an object of tokens by id.
func (c *config) readDecoder(value []byte) error {
	c.hasDecoder = true
	var entries map[string]addedToken
	if err := decode("added_tokens_decoder", value, &entries); err != nil {
		return err
	}
	ids := make([]uint64, 0, len(entries))
	for text := range entries {
		id, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return Invalid("added_tokens_decoder: %q is no id", text)
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	c.decoder = nil
	for _, id := range ids {
		entry := entries[strconv.FormatUint(id, 10)]
		entry.ID = uint32(id)
		c.decoder = append(c.decoder, entry.token())
		c.decoder[len(c.decoder)-1].ID = uint32(id)
	}
	return nil
}

// readExtra reads a list of further special tokens, or an object of them by role.
func (c *config) readExtra(key string, value json.RawMessage) error {
	if value[0] == '{' {
		return c.object(value, func(role string, value json.RawMessage) error {
			if null(value) {
				return nil
			}
			return c.name(role, value)
		})
	}
	values, err := list(key, value)
	if err != nil {
		return err
	}
	if len(values) == 0 || key == "additional_special_tokens" && len(c.extra) > 0 {
		return nil
	}
	c.extra = nil
	for _, value := range values {
		token, _, err := tokenValue(key, bytes.TrimSpace(value))
		if err != nil {
			return err
		}
		token.Special = true
		c.extra = append(c.extra, token)
	}
	return nil
}

// readMap reads special_tokens_map.json, which counts where tokenizer_config.json has
// no added_tokens_decoder.
func (c *config) readMap(data []byte) error {
	if len(data) == 0 || c.hasDecoder {
		return nil
	}
	return c.object(data, func(key string, value json.RawMessage) error {
		switch {
		case null(value):
			return nil
		case key == "extra_special_tokens", key == "additional_special_tokens":
			return c.readExtra(key, value)
		case value[0] != '"' && value[0] != '{':
			return nil
		}
		if err := c.name(key, value); err != nil {
			return err
		}
		c.named[c.role(key)].token.Special = true
		return nil
	})
}

// readModelConfig reads what config.json says.
func (c *config) readModelConfig(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	c.hasModel = true
	var values struct {
		ModelType string `json:"model_type"`
		Class     string `json:"tokenizer_class"`
	}
	if err := decode("config.json", data, &values); err != nil {
		return err
	}
	c.modelType = values.ModelType
	c.class = cmp.Or(c.class, values.Class)
	return nil
}

// text is the text of a token by its role; empty when it has none.
func (c *config) text(role string) string {
	if at := c.role(role); at >= 0 {
		return c.named[at].token.Content
	}
	return ""
}

// flag is a setting of tokenizer_config.json.
func (c *config) flag(key string, otherwise bool) (bool, error) {
	value := otherwise
	raw, found := c.values[key]
	if !found || null(raw) {
		return otherwise, nil
	}
	err := decode(key, raw, &value)
	return value, err
}

// batch is what transformers adds to a tokenizer that has some tokens already: the
// tokens of added_tokens_decoder with their properties, then special tokens that are
// new, the well-known roles first.
func (c *config) batch(present []AddedToken) []AddedToken {
	batch := slices.Clone(c.decoder)
	if !c.hasDecoder {
		batch = slices.Clone(present)
	}
	known := make(map[string]bool, len(present)+len(batch))
	properties := make(map[string]AddedToken, len(batch))
	for _, token := range present {
		known[token.Content] = true
	}
	for _, token := range batch {
		known[token.Content] = true
		properties[token.Content] = token
	}
	special := map[string]bool{}
	add := func(token AddedToken) {
		if !known[token.Content] {
			known[token.Content] = true
			batch = append(batch, token)
		}
	}
	for _, named := range c.ordered() {
		special[named.token.Content] = true
		if token, found := properties[named.token.Content]; found {
			named.token = token
		}
		add(named.token)
	}
	for _, token := range c.extra {
		add(token)
	}
	for i := range batch {
		batch[i].Special = batch[i].Special || special[batch[i].Content]
	}
	return batch
}

// ordered is the named tokens, well-known roles first.
func (c *config) ordered() []namedToken {
	ordered := make([]namedToken, 0, len(c.named))
	for _, role := range roles() {
		if at := c.role(role); at >= 0 {
			ordered = append(ordered, c.named[at])
		}
	}
	for _, named := range c.named {
		if !slices.Contains(roles(), named.role) {
			ordered = append(ordered, named)
		}
	}
	return ordered
}
