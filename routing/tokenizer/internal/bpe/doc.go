// Package bpe merges byte pairs: byte-level vocabularies behind a pre-tokenizer,
// tiktoken ranks, and SentencePiece-style vocabularies of whole characters, with the
// results of Hugging Face's tokenizers and of tiktoken.
//
// A piece is looked up three times before it is merged: as a whole token, in a cache
// of pieces, and after being cut where no token joins two characters (seams), part by
// part. What is left goes by one of three ways that give the same: scanning for the
// best pair (short), the linear encoder (long), and a heap (vocabularies for which
// the linear encoder is not built).
//
// Tables are immutable and shared; workers hold the caches and scratch memory, for
// one goroutine at a time. The package starts none.
package bpe
