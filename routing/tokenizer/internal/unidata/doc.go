// Package unidata holds the character classes and normalisation tables that the
// engines' tokenizers were built with, pinned by version. Go's own tables follow Go.
package unidata
