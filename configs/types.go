package configs

import "time"

// Duration is a time span written as "30s", "5m" or "100ms".
type Duration time.Duration

// D returns d as a time.Duration.
func (d Duration) D() time.Duration { return time.Duration(d) }

// Size is a number of bytes written as "64MiB", "1KiB" or "512".
type Size int64

// Secret is text that never prints: it shows as "***" in every format. In a
// file it is "env:NAME", "file:PATH", or the text itself.
type Secret struct{ text string }

// NewSecret wraps text.
func NewSecret(text string) Secret { return Secret{text: text} }

// Reveal returns the text, for the one place that must send or compare it.
func (s Secret) Reveal() string { return s.text }

// Set reports whether there is any text.
func (s Secret) Set() bool { return s.text != "" }

// String hides the text.
func (s Secret) String() string {
	if s.text == "" {
		return ""
	}
	return "***"
}
