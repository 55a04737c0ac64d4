package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"slices"
)

// folder is the files of a tokenizer, and a sum over those read.
type folder struct {
	files fs.FS
	sum   hash.Hash
}

// Load reads the tokenizer of a folder. Where there is a config.json, the
// tokenizer.json is read as transformers does for that model; without it, as the
// tokenizers library does, with the special tokens of tokenizer_config.json added.
func Load(files fs.FS) (*Tokenizer, error) {
	f := &folder{files: files, sum: sha256.New()}
	t, err := f.load()
	if err != nil {
		return nil, err
	}
	t.Digest = hex.EncodeToString(f.sum.Sum(nil))
	return t, nil
}

// load picks the file. That tekken.json comes first beside weights of Mistral's own
// format is vLLM's rule (tokenizers/registry.py).
func (f *folder) load() (*Tokenizer, error) {
	tekken := f.has("tekken.json") && (!f.has("tokenizer.json") || f.has("consolidated*.safetensors"))
	switch {
	case tekken:
		return f.parse("tekken.json", parseTekken)
	case f.has("tokenizer.json"):
		return f.loadHF()
	}
	name := f.find("tiktoken.model", "*.tiktoken")
	if name == "" {
		return nil, Unsupported("folder", "no tokenizer.json, tekken.json, tiktoken.model or *.tiktoken in it")
	}
	c, err := f.config()
	if err != nil {
		return nil, err
	}
	return f.parse(name, func(data []byte) (*Tokenizer, error) { return parseTiktoken(data, c) })
}

// loadHF reads a tokenizer.json and what is beside it.
func (f *folder) loadHF() (*Tokenizer, error) {
	c, err := f.config()
	if err != nil {
		return nil, err
	}
	class := generic
	if c.hasModel {
		class = classOf(c.modelType, c.class)
	}
	t, err := f.parse("tokenizer.json", func(data []byte) (*Tokenizer, error) {
		return parseTokenizer(data, exactScores(class))
	})
	if err != nil {
		return nil, err
	}
	t.PlainText = c.plainText
	if err := t.rebuild(class, c); err != nil {
		return nil, fmt.Errorf("cannot read tokenizer.json as transformers does: %w", err)
	}
	return t, nil
}

// config reads the files that say more about a tokenizer.
func (f *folder) config() (*config, error) {
	data, err := f.read("tokenizer_config.json")
	if err != nil {
		return nil, err
	}
	c, err := readConfig(data)
	if err != nil {
		return nil, fmt.Errorf("cannot read tokenizer_config.json: %w", err)
	}
	if data, err = f.read("special_tokens_map.json"); err != nil {
		return nil, err
	}
	if err := c.readMap(data); err != nil {
		return nil, fmt.Errorf("cannot read special_tokens_map.json: %w", err)
	}
	if data, err = f.read("config.json"); err != nil {
		return nil, err
	}
	if err := c.readModelConfig(data); err != nil {
		return nil, fmt.Errorf("cannot read config.json: %w", err)
	}
	return c, nil
}

// parse reads one file and names it in errors.
func (f *folder) parse(name string, parse func([]byte) (*Tokenizer, error)) (*Tokenizer, error) {
	data, err := f.read(name)
	if err != nil {
		return nil, err
	}
	t, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	}
	return t, nil
}

// read gives the content of a file; nil when it is not there.
func (f *folder) read(name string) ([]byte, error) {
	data, err := fs.ReadFile(f.files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	}
	fmt.Fprintf(f.sum, "%s %d\n", name, len(data))
	f.sum.Write(data)
	return data, nil
}

// has says whether a file matches a pattern.
func (f *folder) has(pattern string) bool { return f.find(pattern) != "" }

// find is the first file, by name, that matches the first pattern that any matches.
func (f *folder) find(patterns ...string) string {
	for _, pattern := range patterns {
		names, err := fs.Glob(f.files, pattern)
		if err == nil && len(names) > 0 {
			return slices.Min(names)
		}
	}
	return ""
}
