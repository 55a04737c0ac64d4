package tokenizer

import (
	"errors"

	"penstock/routing/tokenizer/internal/spec"
)

// Errors of Load and Append; test with errors.Is.
var (
	ErrUnsupported = spec.ErrUnsupported                     // the text names the part, e.g. its pre_tokenizer
	ErrInvalid     = spec.ErrInvalid                         // the file contradicts itself
	ErrExpired     = errors.New("tokenizer: out of time")    // Encoder.Expired said so
	ErrText        = errors.New("tokenizer: text not valid") // not UTF-8
)
