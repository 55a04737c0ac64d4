// Package spec reads the files of a tokenizer into typed values: tokenizer.json with
// tokenizer_config.json and config.json beside it, tiktoken files, and tekken.json.
// What it does not know it refuses by name. Its functions are pure; it has no
// goroutines.
package spec
