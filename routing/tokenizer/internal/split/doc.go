// Package split cuts text into pre-tokens as the regular expressions of the known
// tokenizers do, each family by a scanner written by hand. It never interprets a
// pattern: one that is not known to the letter is refused, for what is close to a
// pattern cuts differently somewhere.
//
// Semantics are those of Oniguruma, which tokenizers uses, and of Rust's regular
// expressions, which tiktoken uses; the two agree on every pattern listed here. Each
// scanner is held against the engines' library (testdata, and the files that
// PENSTOCK_SPLIT_ORACLE names) and against a slow matcher in the tests.
//
// Time is proportional to the text whatever it is: a character is read a few times at
// most, also when pieces are asked for one by one. Nothing is allocated.
package split
