package bpe

import (
	"math/rand/v2"
	"strings"
	"testing"
)

const worstSize = 400_000

// worstTexts are what makes a careless encoder quadratic.
func worstTexts() map[string]string {
	r := rand.New(rand.NewPCG(5, 6))
	han := make([]rune, worstSize/3)
	for i := range han {
		han[i] = rune(0x4E00 + r.IntN(3000))
	}
	letters := "abcdefghijklmnopqrstuvwxyz"
	return map[string]string{
		"letter":    strings.Repeat("a", worstSize),
		"spaces":    strings.Repeat("▁", worstSize/3),
		"equals":    strings.Repeat("=", worstSize),
		"dashes":    strings.Repeat("-", worstSize),
		"slashes":   strings.Repeat("/", worstSize),
		"newlines":  strings.Repeat("\n", worstSize),
		"turns":     strings.Repeat("ab", worstSize/2),
		"thirds":    strings.Repeat("aab", worstSize/3),
		"letters":   randomText(r, letters, worstSize),
		"two":       randomText(r, "ab", worstSize),
		"han":       string(han),
		"one han":   strings.Repeat("的", worstSize/3),
		"emoji":     strings.Repeat("👍🏽", worstSize/8),
		"unknown":   strings.Repeat("\U0010FFFE", worstSize/4),
		"any bytes": anyBytes(r),
	}
}

// anyBytes is not even UTF-8.
func anyBytes(r *rand.Rand) string {
	b := make([]byte, worstSize)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

func BenchmarkWorst(b *testing.B) {
	for _, name := range realByteLevel {
		b.Run(name, func(b *testing.B) {
			spec, err := realModel(b, name).byteSpec()
			w := newByteLevel(b, spec, err).NewWorker()
			var ids []uint32
			for kind, text := range worstTexts() {
				text = strings.ReplaceAll(text, "▁", " ")
				b.Run(kind, func(b *testing.B) {
					for b.Loop() {
						ids = w.Append(ids[:0], []byte(text), 0, []int{len(text)})
					}
				})
			}
		})
	}
	for _, name := range realCharacters {
		b.Run(name, func(b *testing.B) {
			spec, err := realModel(b, name).characterSpec()
			w := newCharacters(b, spec, err).NewWorker()
			var ids []uint32
			for kind, text := range worstTexts() {
				b.Run(kind, func(b *testing.B) {
					for b.Loop() {
						ids, _ = w.Append(ids[:0], []byte(text))
					}
				})
			}
		})
	}
}
