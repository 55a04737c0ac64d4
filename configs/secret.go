package configs

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"unique"
)

// masked stands for a secret in everything that is printed.
const masked = "***"

// Secret is text that never prints: it shows as "***" in every format. In a
// file it is "env:NAME", "file:PATH", or the text itself.
//
// Two secrets with the same text are ==. The text lies behind a handle because
// package fmt prints plain fields where it does not ask Format, as for a wrong
// verb.
type Secret struct{ handle unique.Handle[string] }

// NewSecret wraps text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{handle: unique.Make(text)}
}

// Reveal returns the text, for the one place that must send or compare it.
func (s Secret) Reveal() string {
	if !s.Set() {
		return ""
	}
	return s.handle.Value()
}

// Set reports whether there is any text.
func (s Secret) Set() bool { return s != Secret{} }

// String hides the text.
func (s Secret) String() string {
	if !s.Set() {
		return ""
	}
	return masked
}

// GoString hides the text from %#v.
func (s Secret) GoString() string { return "configs.Secret{" + s.String() + "}" }

// Format hides the text under every verb and flag, so that no format string
// can reach the field.
func (s Secret) Format(f fmt.State, verb rune) {
	text := s.String()
	if verb == 'v' && f.Flag('#') {
		text = s.GoString()
	}
	_, _ = io.WriteString(f, text) // a fmt.State collects in memory
}

// MarshalText hides the text; encoding/json uses it too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON hides the text.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

// MarshalYAML hides the text.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// LogValue hides the text from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// errMasked is what a file made from a printed configuration runs into.
var errMasked = errors.New(`cannot use "***": it is how secrets are printed, not a secret; write env:NAME or file:PATH`)

// ParseSecret resolves text: "env:NAME" and "file:PATH" are looked up, anything
// else is the secret itself. A file loses its trailing line breaks.
func ParseSecret(text string, opts Options) (Secret, error) {
	opts = opts.filled()
	if text == masked && !opts.AllowMasked {
		return Secret{}, errMasked
	}
	if name, ok := strings.CutPrefix(text, "env:"); ok {
		value := opts.Getenv(name)
		if value == "" {
			return Secret{}, fmt.Errorf("cannot read secret: environment variable %q is not set or empty", name)
		}
		return NewSecret(value), nil
	}
	if path, ok := strings.CutPrefix(text, "file:"); ok {
		data, err := opts.ReadFile(path)
		if err != nil {
			return Secret{}, fmt.Errorf("cannot read secret: %w", err)
		}
		value := strings.TrimRight(string(data), "\r\n")
		if value == "" {
			return Secret{}, fmt.Errorf("cannot read secret: file %q is empty", path)
		}
		return NewSecret(value), nil
	}
	return NewSecret(text), nil
}

// isReference reports whether text names a secret kept elsewhere.
func isReference(text string) bool {
	return strings.HasPrefix(text, "env:") || strings.HasPrefix(text, "file:")
}
