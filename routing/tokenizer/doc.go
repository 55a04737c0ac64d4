// Package tokenizer turns text into token ids exactly as the engines' own
// tokenizers do: the Hugging Face tokenizers library for a tokenizer.json, tiktoken
// for a file of ranks.
//
// Load reads a folder and refuses by name what it does not know: nothing is guessed.
// A Model is immutable and shared; an Encoder is the scratch memory of one user of it.
//
// It is pure but for reading the fs.FS that Load is given, and starts no goroutine.
package tokenizer
