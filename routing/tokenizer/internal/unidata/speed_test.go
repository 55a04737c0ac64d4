package unidata

import (
	"bytes"
	"strings"
	"testing"
)

var speedTexts = []struct{ name, text string }{
	{"ascii", strings.Repeat("The lock keeper opened the sluice a little further, and the water moved.\n", 900)},
	{"chinese", strings.Repeat("水闸的看守人把闸门又打开了一点，整个夏天停在木板后面的水开始流动。", 600)},
	{"japanese", strings.Repeat("門が開いて、水がゆっくりと動きはじめた。ガラスのむこうで", 700)},
	{"hindi", strings.Repeat("कमल खिला है और पानी धीरे धीरे बहने लगा", 600)},
	{"vietnamese", strings.Repeat("Người gác cống mở cửa thêm một chút nữa. ", 1100)},
	{"decomposed", strings.Repeat("Ngu\u031bo\u031b\u0300i ga\u0301c co\u0302\u0301ng, e\u0301te\u0301. ", 1400)},
	{"marks", "a" + strings.Repeat("\u0301\u0323\u0327\u0345", 16<<10)},
}

func BenchmarkIsNFC(b *testing.B) {
	for _, s := range speedTexts {
		b.Run(s.name, func(b *testing.B) {
			text := []byte(s.text)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				IsNFC(text)
			}
		})
	}
}

func BenchmarkNFC(b *testing.B) {
	for _, s := range speedTexts {
		b.Run(s.name, func(b *testing.B) {
			text := []byte(s.text)
			dst := make([]byte, 0, 2*len(text))
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				dst = NFC(dst[:0], text)
			}
		})
	}
}

func TestNormalisingAllocatesNothing(t *testing.T) {
	for _, s := range speedTexts {
		text := []byte(s.text)
		dst := make([]byte, 0, 4*len(text))
		if got := testing.AllocsPerRun(5, func() { IsNFC(text) }); got != 0 {
			t.Errorf("IsNFC of %s: %v allocations", s.name, got)
		}
		if s.name == "marks" {
			continue // a run this long is sorted in memory of its own
		}
		if got := testing.AllocsPerRun(5, func() { dst = NFC(dst[:0], text) }); got != 0 {
			t.Errorf("NFC of %s: %v allocations", s.name, got)
		}
	}
}

func TestQuickCheckPassesUsualText(t *testing.T) {
	t.Parallel()
	for _, s := range speedTexts[:5] {
		if n := IsNFC([]byte(s.text)); n != len(s.text) {
			t.Errorf("%s: stops at %d of %d, before %.20q", s.name, n, len(s.text), s.text[n:])
		}
	}
}

// Marks are sorted in time that grows with their number, not with its square; squares
// of this one take minutes.
func TestLongRunsOfMarksAreSorted(t *testing.T) {
	t.Parallel()
	const n = 100 << 10
	for _, form := range []func(dst, text []byte) []byte{NFC, NFD, NFKC, NFKD} {
		got := form(nil, []byte("q"+strings.Repeat("\u0301\u0323", n)))
		want := []byte("q" + strings.Repeat("\u0323", n) + strings.Repeat("\u0301", n))
		if !bytes.Equal(got, want) {
			t.Errorf("%.20q... of %d bytes, want %.20q... of %d", got, len(got), want, len(want))
		}
		// Already in order, and composed of starters that might compose.
		form(nil, []byte(strings.Repeat("\u0301", n)))
		form(nil, []byte(strings.Repeat("\u1161", n)))
	}
}
