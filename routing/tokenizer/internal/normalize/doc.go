// Package normalize applies the normalizer of a tokenizer to text. Chains are
// immutable; the buffers that a text goes through belong to the caller.
package normalize
