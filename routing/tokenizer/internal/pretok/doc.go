// Package pretok cuts normalised text into the pieces that a model encodes: at the
// speed of a scanner where the pre-tokenizer is a known family, step by step where it
// is not. Plans are immutable; buffers belong to the caller.
package pretok
