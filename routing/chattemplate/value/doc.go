// Package value holds the values that templates compute with: views over the
// request's own JSON bytes, in order, with numbers kept as they were written, and
// what is built on top of them.
//
// A Memory owns lists, dicts and unescaped text; a Value is a small reference into
// one. Nothing here is safe for concurrent use, except reading values that nobody
// changes any more. It starts no goroutine.
package value
