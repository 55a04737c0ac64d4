package spec

import "strings"

// Patterns that classes of transformers have in their code.
const (
	qwen2Pattern  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwen35Pattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// rebuild replaces what a class of transformers replaces, and adds the tokens that it
// adds.
func (t *Tokenizer) rebuild(class string, c *config) error {
	fromFile := t.Added[0]
	if class == "LlamaTokenizer" && t.byteLevel() {
		// Nobody can serve that: the class is for SentencePiece vocabularies. Models with
		// it are listed by name in transformers, and a folder does not have that name.
		class = generic
	}
	if class == generic {
		t.Added = append(t.Added, c.batch(fromFile))
		return nil
	}
	for _, d := range defaultTokens(class) {
		if _, given := c.values[d.role]; !given && c.role(d.role) < 0 {
			c.named = append(c.named, d)
		}
	}
	if err := t.parts(class, c); err != nil {
		return err
	}
	if !c.hasDecoder {
		c.decoder, c.hasDecoder = fromFile, true
	}
	t.Added = [][]AddedToken{c.batch(nil)}
	switch class {
	case "Qwen2Tokenizer", "Qwen3_5Tokenizer":
		t.Added = append(t.Added, c.again(false))
	case "CohereTokenizer":
		t.Added = append(t.Added, c.again(true))
	}
	return nil
}

func (t *Tokenizer) byteLevel() bool {
	for i := range t.Splits {
		if t.Splits[i].Kind == "ByteLevel" {
			return true
		}
	}
	return false
}

// again is the special tokens once more, as special tokens without other properties,
// or with them when keep is set.
func (c *config) again(keep bool) []AddedToken {
	batch := make([]AddedToken, 0, len(c.named)+len(c.extra))
	for _, named := range c.ordered() {
		token := AddedToken{Content: named.token.Content, Special: true}
		if keep {
			for _, known := range c.decoder {
				if known.Content == token.Content {
					token = known
				}
			}
			if !named.plain {
				token = named.token
			}
			token.Special = true
		}
		batch = append(batch, token)
	}
	for _, token := range c.extra {
		batch = append(batch, AddedToken{Content: token.Content, Special: true})
	}
	return batch
}

// defaultTokens are the special tokens that a class has unless the configuration says
// otherwise.
func defaultTokens(class string) []namedToken {
	const (
		roberta = "bos=<s> eos=</s> unk=<unk> sep=</s> pad=<pad> cls=<s> mask=<mask>"
		text    = "<|endoftext|>"
	)
	lists := map[string]string{
		"LlamaTokenizer":      "unk=<unk> bos=<s> eos=</s>",
		"GemmaTokenizer":      "unk=<unk> bos=<bos> eos=<eos> pad=<pad> mask=<mask>",
		"Qwen2Tokenizer":      "unk=" + text + " eos=" + text + " pad=" + text,
		"Qwen3_5Tokenizer":    "unk=" + text + " eos=" + text + " pad=" + text,
		"GPT2Tokenizer":       "unk=" + text + " bos=" + text + " eos=" + text,
		"GPTNeoXTokenizer":    "unk=" + text + " bos=" + text + " eos=" + text + " pad=<|padding|>",
		"CohereTokenizer":     "unk=<UNK> bos=<BOS_TOKEN> eos=<|END_OF_TURN_TOKEN|> pad=<PAD> cls=<CLS> sep=<SEP> mask=<MASK_TOKEN>",
		"BertTokenizer":       "unk=[UNK] sep=[SEP] pad=[PAD] cls=[CLS] mask=[MASK]",
		"RobertaTokenizer":    roberta,
		"XLMRobertaTokenizer": roberta,
	}
	tokens := make([]namedToken, 0, 8)
	for entry := range strings.FieldsSeq(lists[class]) {
		role, content, _ := strings.Cut(entry, "=")
		tokens = append(tokens, namedToken{role + "_token", AddedToken{Content: content, Special: true}, true})
	}
	return tokens
}

// parts replaces the parts of the file.
func (t *Tokenizer) parts(class string, c *config) error {
	prefix, err := c.flag("add_prefix_space", class == "LlamaTokenizer" || class == "XLMRobertaTokenizer")
	if err != nil {
		return err
	}
	byteLevel := PreTokenizer{Kind: "ByteLevel", AddPrefixSpace: prefix, UseRegex: true}
	switch class {
	case "LlamaTokenizer":
		return t.llama(c, prefix)
	case "GemmaTokenizer":
		return t.gemma(c)
	case "Qwen2Tokenizer":
		t.split(qwen2Pattern, prefix)
	case "Qwen3_5Tokenizer":
		t.split(qwen35Pattern, prefix)
	case "GPT2Tokenizer":
		t.Normalizers, t.Splits = nil, []PreTokenizer{byteLevel}
	case "RobertaTokenizer":
		t.Normalizers, t.Splits = nil, []PreTokenizer{byteLevel}
		t.Post = c.around("cls_token", "sep_token")
	case "GPTNeoXTokenizer":
		t.Normalizers, t.Splits, t.Post = []Normalizer{{Kind: "NFC"}}, []PreTokenizer{byteLevel}, nil
	case "CohereTokenizer":
		t.Normalizers = []Normalizer{{Kind: "NFC"}}
		t.Splits = []PreTokenizer{{Kind: "Digits", Individual: true}, byteLevel}
	case "BertTokenizer":
		return t.bert(c)
	case "XLMRobertaTokenizer":
		return t.xlmRoberta(c, prefix)
	default:
		return Unsupported("tokenizer_class", class)
	}
	return t.plainBPE(false, false, "")
}

// split is the pre-tokenizer of Qwen.
func (t *Tokenizer) split(pattern string, prefix bool) {
	t.Normalizers = []Normalizer{{Kind: "NFC"}}
	t.Splits = []PreTokenizer{
		{Kind: "Split", Pattern: Pattern{Text: pattern, Regex: true}, Behavior: "Isolated"},
		{Kind: "ByteLevel", AddPrefixSpace: prefix},
	}
}

// plainBPE sets the options that a class gives BPE.
func (t *Tokenizer) plainBPE(fuse, fallback bool, unknown string) error {
	m := &t.Model
	if m.Kind != "BPE" {
		return Unsupported("tokenizer_class with model", m.Kind)
	}
	m.FuseUnknown, m.ByteFallback, m.IgnoreMerges = fuse, fallback, false
	m.HasUnknown, m.Missing = false, ""
	if unknown != "" {
		m.Unknown, m.HasUnknown = m.Vocabulary.Find([]byte(unknown))
		if !m.HasUnknown {
			m.Missing = unknown
		}
	}
	return nil
}

func (t *Tokenizer) llama(c *config, prefix bool) error {
	legacy, err := c.flag("legacy", false)
	if err != nil {
		return err
	}
	scheme := "first"
	if legacy {
		scheme = "always"
	}
	if !prefix {
		scheme = "never"
	}
	t.Normalizers = nil
	t.Splits = []PreTokenizer{{Kind: "Metaspace", Replacement: "▁", Prepend: scheme}}
	return t.plainBPE(true, true, "")
}

func (t *Tokenizer) gemma(c *config) error {
	t.Normalizers = []Normalizer{{Kind: "Replace", Pattern: Pattern{Text: " "}, Text: "▁"}}
	t.Splits = []PreTokenizer{{Kind: "Split", Pattern: Pattern{Text: " "}, Behavior: "MergedWithPrevious"}}
	return t.plainBPE(true, true, c.text("unk_token"))
}

func (t *Tokenizer) bert(c *config) error {
	if t.Model.Kind != "WordPiece" {
		return Unsupported("tokenizer_class BertTokenizer with model", t.Model.Kind)
	}
	n := Normalizer{Kind: "BertNormalizer", CleanText: true}
	var errs [3]error
	n.Lowercase, errs[0] = c.flag("do_lower_case", true)
	n.ChineseChars, errs[1] = c.flag("tokenize_chinese_chars", true)
	n.StripAccents, errs[2] = c.flag("strip_accents", n.Lowercase)
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	t.Normalizers, t.Splits = []Normalizer{n}, []PreTokenizer{{Kind: "BertPreTokenizer"}}
	t.Post = c.around("cls_token", "sep_token")
	m := &t.Model
	m.Prefix, m.MaxCharacters = "##", 100
	unknown := c.text("unk_token")
	if m.Unknown, m.HasUnknown = m.Vocabulary.Find([]byte(unknown)); !m.HasUnknown {
		return Invalid("unk_token %q is not in the vocabulary", unknown)
	}
	return nil
}

func (t *Tokenizer) xlmRoberta(c *config, prefix bool) error {
	m := &t.Model
	if m.Kind != "Unigram" {
		return Unsupported("tokenizer_class XLMRobertaTokenizer with model", m.Kind)
	}
	if len(m.Scores) <= 3 {
		return Invalid("a vocabulary of %d entries, without the unknown token", len(m.Scores))
	}
	m.HasUnknown, m.Unknown, m.ByteFallback = true, 3, false
	var kept []Normalizer
	for i := range t.Normalizers {
		if t.Normalizers[i].Kind == "Precompiled" && kept == nil {
			kept = append(kept, t.Normalizers[i])
		}
	}
	scheme := "never"
	if prefix {
		scheme = "always"
	}
	t.Normalizers = kept
	t.Splits = []PreTokenizer{
		{Kind: "WhitespaceSplit"},
		{Kind: "Metaspace", Replacement: "▁", Prepend: scheme, Split: true},
	}
	t.Post = c.around("bos_token", "eos_token")
	return nil
}

// around is a post-processor that puts the text between two tokens, whose ids are
// known once all tokens are added.
func (c *config) around(before, after string) []PostProcessor {
	return []PostProcessor{{
		Kind:       "TemplateProcessing",
		BeforeText: c.text(before),
		AfterText:  c.text(after),
	}}
}
