package spec

import (
	"errors"
	"fmt"
)

// Errors that reading returns, wrapped; the public package gives them its names.
var (
	ErrUnsupported = errors.New("tokenizer: not supported")
	ErrInvalid     = errors.New("tokenizer: invalid file")
)

// Unsupported says which part, with which value, is not known.
func Unsupported(part, value string) error {
	return fmt.Errorf("%w: %s %q", ErrUnsupported, part, shorten(value))
}

// Invalid says what is wrong with a file.
func Invalid(format string, arguments ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, arguments...)...)
}

// shorten keeps what a file says from filling a log line.
func shorten(value string) string {
	const limit = 400
	if len(value) <= limit {
		return value
	}
	return value[:limit] + "..."
}
