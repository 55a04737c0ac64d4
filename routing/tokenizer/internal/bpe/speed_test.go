package bpe

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"penstock/routing/tokenizer/internal/split"
	"penstock/routing/tokenizer/internal/unidata"
)

// realFamily is the pre-tokenizer of a byte-level vocabulary.
var realFamily = map[string]split.Family{
	"llama3_1": split.CL100K, "qwen3": split.Qwen2, "deepseek_v3": split.DeepSeek3,
	"gptoss": split.O200K, "gpt4o": split.O200K,
}

var realTexts = []string{"english", "code", "mixed", "chinese", "spaces"}

const documentSize = 16 << 10

// documents is the text to warm caches on and the unseen rest, in documents of 16 KB.
func documents(b *testing.B, name string) (seen, unseen [][]byte) {
	b.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "..", ".cache", "bpe", "text", name+".txt"))
	if err != nil {
		b.Skipf("no text %q", name)
	}
	text := strings.ToValidUTF8(string(raw), "")
	var all [][]byte
	for len(text) > documentSize {
		end := documentSize
		for text[end]&0xC0 == 0x80 {
			end--
		}
		all = append(all, []byte(text[:end]))
		text = text[end:]
	}
	cut := len(all) * 6 / 10
	return all[:cut], all[cut:]
}

// byteEncoder is a whole byte-level encoder.
type byteEncoder struct {
	split  split.Splitter
	worker *Worker
	ends   [256]int
}

func (e *byteEncoder) encode(dst []uint32, text []byte) []uint32 {
	for from := 0; from < len(text); {
		n := e.split.Split(text, from, e.ends[:])
		dst = e.worker.Append(dst, text, from, e.ends[:n])
		from = e.ends[n-1]
	}
	return dst
}

// BenchmarkSteady encodes unseen documents with the caches of seen ones, in one pass
// an iteration; the caches are warmed anew before each. On a shared machine the best
// pass tells most.
func BenchmarkSteady(b *testing.B) {
	for _, name := range realByteLevel {
		b.Run(name, func(b *testing.B) {
			spec, err := realModel(b, name).byteSpec()
			tables := newByteLevel(b, spec, err)
			scanner, _ := split.New(realFamily[name], unidata.V16)
			for _, text := range realTexts {
				b.Run(text, func(b *testing.B) {
					steady(b, text, func() func([]uint32, []byte) []uint32 {
						return (&byteEncoder{split: scanner, worker: tables.NewWorker()}).encode
					})
				})
			}
		})
	}
	for _, name := range realCharacters {
		b.Run(name, func(b *testing.B) {
			spec, err := realModel(b, name).characterSpec()
			tables := newCharacters(b, spec, err)
			for _, text := range realTexts {
				b.Run(text, func(b *testing.B) {
					steady(b, text, func() func([]uint32, []byte) []uint32 {
						w := tables.NewWorker()
						var spaces []byte
						return func(dst []uint32, text []byte) []uint32 {
							spaces = appendSpaced(spaces[:0], text)
							dst, _ = w.Append(dst, spaces)
							return dst
						}
					})
				})
			}
		})
	}
}

func appendSpaced(dst, text []byte) []byte {
	for _, c := range text {
		if c == ' ' {
			dst = append(dst, "▁"...)
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

func steady(b *testing.B, name string, fresh func() func([]uint32, []byte) []uint32) {
	b.Helper()
	seen, unseen := documents(b, name)
	size, tokens := 0, 0
	for _, text := range unseen {
		size += len(text)
	}
	var ids []uint32
	var times []time.Duration
	for b.Loop() {
		b.StopTimer()
		encode := fresh()
		for _, text := range seen {
			ids = encode(ids[:0], text)
		}
		start := time.Now()
		b.StartTimer()
		tokens = 0
		for _, text := range unseen {
			ids = encode(ids[:0], text)
			tokens += len(ids)
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	b.ReportMetric(float64(size)/1e6/times[len(times)/2].Seconds(), "MB/s")
	b.ReportMetric(float64(size)/1e6/times[0].Seconds(), "best-MB/s")
	b.ReportMetric(float64(size)/float64(tokens), "B/token")
}

// BenchmarkMisses merges the pieces that are neither tokens nor seen before, by length.
func BenchmarkMisses(b *testing.B) {
	const name = "llama3_1"
	spec, err := realModel(b, name).byteSpec()
	tables := newByteLevel(b, spec, err)
	scanner, _ := split.New(realFamily[name], unidata.V16)
	byLength := missed(b, tables, scanner)
	for length, pieces := range byLength {
		if len(pieces) < 500 {
			continue
		}
		for _, way := range []string{"scan", "linear"} {
			b.Run(fmt.Sprintf("%d bytes/%s", length, way), func(b *testing.B) {
				m := newMerger(tables.vocabulary)
				var ids []uint32
				count := 0
				for b.Loop() {
					for _, piece := range pieces {
						if way == "linear" {
							ids = m.encodeLinear(ids[:0], piece)
							continue
						}
						ids = m.scanBytes(ids[:0], piece)
					}
					count += len(pieces)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(count), "ns/piece")
			})
		}
	}
}

func missed(b *testing.B, tables *ByteLevel, scanner split.Splitter) (byLength [40][][]byte) {
	b.Helper()
	had := map[string]bool{}
	var ends [256]int
	seen, unseen := documents(b, "code")
	for _, text := range append(seen, unseen...) {
		for from := 0; from < len(text); {
			n := scanner.Split(text, from, ends[:])
			for _, end := range ends[:n] {
				piece := text[from:end]
				if from = end; had[string(piece)] || len(piece) >= len(byLength) {
					continue
				}
				had[string(piece)] = true
				x, y := words(piece, 0, uint(min(len(piece), 16)))
				if _, _, ok := tables.whole.get(x, y, len(piece), hashWords(x, y, len(piece))); !ok {
					byLength[len(piece)] = append(byLength[len(piece)], piece)
				}
			}
		}
	}
	return byLength
}
