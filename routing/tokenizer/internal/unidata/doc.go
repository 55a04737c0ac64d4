// Package unidata holds the character classes, the normalisation forms and the lower
// case that the engines' tokenizers were built with, pinned by version: Go's own
// tables follow Go. It never guesses: every table is checked against the engines'
// library over all code points. Everything in it is pure and safe for concurrent use;
// tables are made when first asked for.
//
// The generated files come from gen/gen.py, which names its sources: the Unicode
// Character Database, and the tables of the crate unicode-normalization-alignments.
package unidata
