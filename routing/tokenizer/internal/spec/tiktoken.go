package spec

import (
	"bytes"
	"encoding/base64"
	"math"
	"slices"
	"strconv"
)

// llamaPattern is the pattern that transformers assumes for a tiktoken file without
// code of its own; kimiPattern is that of Kimi K2's tokenization_kimi.py.
const (
	llamaPattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	kimiPattern  = `[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// kimiReserved is how many ids tokenization_kimi.py keeps for special tokens.
const kimiReserved = 256

// parseTiktoken reads lines of a token in base64 and its rank, and takes the special
// tokens from the configuration.
func parseTiktoken(data []byte, c *config) (*Tokenizer, error) {
	t := &Tokenizer{Format: "tiktoken"}
	pattern := llamaPattern
	switch c.class {
	case "TikTokenTokenizer":
		pattern, t.Chunks, t.FixedIDs = kimiPattern, true, true
	case "", "PreTrainedTokenizerFast", generic:
	default:
		return nil, Unsupported("tokenizer_class with a tiktoken file", c.class)
	}
	v, err := readRanks(data)
	if err != nil {
		return nil, err
	}
	t.Model = Model{Kind: "Ranks", Vocabulary: v, IgnoreMerges: true}
	t.Splits = []PreTokenizer{
		{Kind: "Split", Pattern: Pattern{Text: pattern, Regex: true}, Behavior: "Isolated"},
		{Kind: "ByteLevel"},
	}
	t.Added, err = tiktokenSpecials(v.Len(), t.Chunks, c)
	return t, err
}

// readRanks reads the lines. The texts of the vocabulary are bytes, not characters.
func readRanks(data []byte) (*Vocabulary, error) {
	v := NewVocabulary(bytes.Count(data, []byte("\n"))+1, len(data)/2)
	var token []byte
	for number := 1; len(data) > 0; number++ {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte("\n"))
		line = bytes.TrimRight(line, "\r")
		if len(line) == 0 {
			continue
		}
		fields := bytes.Fields(line)
		if len(fields) != 2 {
			return nil, Invalid("line %d is not a token and a rank", number)
		}
		var err error
		if token, err = base64.StdEncoding.AppendDecode(token[:0], fields[0]); err != nil || len(token) == 0 {
			return nil, Invalid("line %d has no token in base64", number)
		}
		rank, err := strconv.ParseUint(string(fields[1]), 10, 31)
		if err != nil {
			return nil, Invalid("line %d has no rank", number)
		}
		if !v.Add(token, uint32(rank)) {
			return nil, Invalid("a vocabulary of more than 4 GiB")
		}
	}
	v.Sort()
	return v, nil
}

// tiktokenSpecials names the ids that follow the vocabulary: as added_tokens_decoder
// says, and reserved ones between. Kimi's code makes 256 of them, that of
// transformers as many as are named, and the extra ones behind.
func tiktokenSpecials(base int, kimi bool, c *config) ([][]AddedToken, error) {
	names := make(map[uint32]string, len(c.decoder))
	last := int64(base) - 1
	for _, token := range c.decoder {
		names[token.ID] = token.Content
		last = max(last, int64(token.ID))
	}
	if kimi {
		last = int64(base + kimiReserved - 1)
	}
	if last > int64(base)+1<<16 || last > math.MaxInt32 {
		return nil, Invalid("added_tokens_decoder: id %d is far behind the vocabulary of %d", last, base)
	}
	var batch []AddedToken
	for id := int64(base); id <= last; id++ {
		content := names[uint32(id)]
		if content == "" {
			content = "<|reserved_token_" + strconv.FormatInt(id, 10) + "|>"
		}
		// To tiktoken all of them are special, whatever the configuration says.
		batch = append(batch, AddedToken{Content: content, ID: uint32(id), Special: true})
	}
	if kimi {
		return [][]AddedToken{batch}, nil
	}
	for _, token := range c.extra {
		if !slices.ContainsFunc(batch, func(a AddedToken) bool { return a.Content == token.Content }) {
			batch = append(batch, AddedToken{Content: token.Content, Special: true})
		}
	}
	return [][]AddedToken{batch, c.batch(batch)}, nil
}
