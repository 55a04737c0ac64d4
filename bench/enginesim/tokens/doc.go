// Package tokens is the pretend tokenizer and author of the simulated engines.
//
// Encode cuts text at word boundaries into pieces of about four bytes and names
// each by a hash, so equal prefixes of text give equal prefixes of ids. Writer
// makes the answer of a request from its prompt and seed alone, so any two
// engines answer the same request with the same bytes. Nothing here matches a
// real vocabulary.
package tokens
