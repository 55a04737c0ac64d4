// Package corpus makes the texts that tokenizers are compared and timed on: real prose
// and code from the packages that setup.sh downloads, and strings made to break
// tokenizers. The same sources give the same bytes, whoever runs it and when.
//
// It owns the file format of a set of texts too: for each text its length (uint32,
// little endian) and its bytes. It starts no goroutine.
package corpus
