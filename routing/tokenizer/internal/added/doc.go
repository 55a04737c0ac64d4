// Package added finds added tokens in text: those strings that a tokenizer cuts out
// before it normalises and splits what is between them. It never changes text; its
// sets are immutable.
package added
