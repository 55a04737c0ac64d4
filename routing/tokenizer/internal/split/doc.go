// Package split cuts text into pre-tokens as the regular expressions of the known
// tokenizers do, each by a scanner written by hand.
package split
