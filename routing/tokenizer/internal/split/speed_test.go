package split

import (
	"strings"
	"testing"

	"penstock/routing/tokenizer/internal/unidata"
)

var families = []Family{
	GPT2, GPT2Digits, CL100K, Tiktoken, Qwen2, Qwen35, Seed, MiniCPM5, O200K, Tekken, DeepSeek3, Kimi,
}

// speedTexts are of the kinds that prompts are made of, some 64 KiB each.
func speedTexts() []struct{ name, text string } {
	long := func(s string) string { return strings.Repeat(s, 64<<10/len(s)) }
	return []struct{ name, text string }{
		{"english", long("The lock keeper opened the sluice a little further, and the water that had stood all " +
			"summer behind the boards began to move. It's an old mill, he said; they've never repaired the wheel, " +
			"and in 1987 the last miller sold 4 of its 12 stones to a museum. \"We don't mind,\" she answered.\n\n")},
		{"code", long("func (s *server) handle(w http.ResponseWriter, r *http.Request) error {\n\tif r.Method != " +
			"\"POST\" {\n\t\treturn errors.New(\"method not allowed\")\n\t}\n\tfor i := 0; i < len(s.items); i++ {\n" +
			"\t\ts.items[i].lastSeen = time.Now().Unix() // keep_alive\n\t}\n    return nil\n}\n\n")},
		{"chinese", long("水闸的看守人把闸门又打开了一点，整个夏天停在木板后面的水开始流动。他说：“这是一座老磨坊，" +
			"轮子从来没有修过。”1987年，最后一位磨坊主把12块磨石中的4块卖给了博物馆。\n")},
		{"mixed", long("Η πύλη άνοιξε — ворота открылись, 門が開いた。 👍🏽 {\"id\": 42, \"naïve\": true, \"tags\": [\"α\", " +
			"\"β\"]} कमल खिला है; مرحبا بالعالم 12:30\n")},
		{"spaces", long("          x\n                        y\n\n\n\t\t\t\tz    ")},
	}
}

func BenchmarkSplit(b *testing.B) {
	for _, family := range families {
		s, _ := New(family, unidata.V16)
		for _, text := range speedTexts() {
			b.Run(string(family)+"/"+text.name, func(b *testing.B) {
				data := []byte(text.text)
				var ends [256]int
				b.SetBytes(int64(len(data)))
				pieces := 0
				for b.Loop() {
					pieces = 0
					for from := 0; ; {
						n := s.Split(data, from, ends[:])
						if n == 0 {
							break
						}
						from = ends[n-1]
						pieces += n
					}
				}
				b.ReportMetric(float64(len(data))/float64(pieces), "bytes/piece")
			})
		}
	}
}

func TestSplitAllocatesNothing(t *testing.T) {
	for _, family := range families {
		s, _ := New(family, unidata.V16)
		for _, text := range speedTexts() {
			data := []byte(text.text)
			var ends [64]int
			allocs := testing.AllocsPerRun(5, func() {
				for from, n := 0, 1; n > 0; {
					if n = s.Split(data, from, ends[:]); n > 0 {
						from = ends[n-1]
					}
				}
			})
			if allocs != 0 {
				t.Errorf("%s on %s: %v allocations", family, text.name, allocs)
			}
		}
	}
}
