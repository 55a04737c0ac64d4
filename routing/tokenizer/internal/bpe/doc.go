// Package bpe merges byte pairs: byte-level vocabularies behind a pre-tokenizer,
// tiktoken ranks, and SentencePiece-style vocabularies of whole characters.
package bpe
