package corpus

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x70656e73746f636b)) }

// mixed is a page of everything in turn.
func (s Sources) mixed() ([]byte, error) {
	languages, err := s.read("bge-m3-lite/bge_m3_lite/calibration_miracl.txt")
	if err != nil {
		return nil, err
	}
	short, err := s.read("bge-m3-lite/bge_m3_lite/calibration.txt")
	if err != nil {
		return nil, err
	}
	chinese, err := s.chinese()
	if err != nil {
		return nil, err
	}
	code, err := s.code()
	if err != nil {
		return nil, err
	}
	english, err := s.english()
	if err != nil {
		return nil, err
	}
	r := seeded(1)
	return weave(
		part{languages, 2400}, part{chinese, 800}, part{english, 1200}, part{code, 1600},
		part{short, 200}, part{madeJSON(r, 128<<10), 1200}, part{emoji(r, 64<<10), 400},
	), nil
}

// space is code as an editor that hates tabs writes it: indented by many spaces, with
// runs of blank lines and blanks at the ends of lines.
func (s Sources) space() ([]byte, error) {
	code, err := s.code()
	if err != nil {
		return nil, err
	}
	r := seeded(2)
	var out []byte
	for line := range bytes.Lines(code[:len(code)/2]) {
		line = bytes.TrimRight(line, "\r\n")
		for len(line) > 0 && line[0] == '\t' {
			out = append(out, "        "...)
			line = line[1:]
		}
		out = append(out, line...)
		switch r.IntN(12) {
		case 0:
			out = append(out, strings.Repeat(" ", r.IntN(40))...)
		case 1:
			out = append(out, strings.Repeat("\n", r.IntN(6))...)
		case 2:
			out = append(out, strings.Repeat("\t", r.IntN(5))...)
		case 3:
			out = append(out, '\r')
		case 4:
			out = fmt.Appendf(out, "%*s|%-*s|", r.IntN(30), "x", r.IntN(60), "y")
		}
		out = append(out, '\n')
	}
	return out, nil
}

// madeJSON is records like those of tool calls.
func madeJSON(r *rand.Rand, n int) []byte {
	names := []string{"path", "query", "old_text", "limit", "文件名", "größe", "résumé", "created_at"}
	values := []string{`"src/main.go"`, `"if err != nil {\n\treturn err\n}"`, `"\u00e9t\u00e9"`, `null`, `true`, `[]`, `"北京"`, `"naïve \"quoted\""`}
	var out []byte
	for len(out) < n {
		out = fmt.Appendf(out, `{"name":"tool_%d","arguments":{`, r.IntN(40))
		for i := range 1 + r.IntN(5) {
			if i > 0 {
				out = append(out, ", "...)
			}
			out = fmt.Appendf(out, "%q: ", names[r.IntN(len(names))])
			if r.IntN(3) == 0 {
				out = fmt.Appendf(out, "%.*f", r.IntN(6), r.Float64()*1e6)
			} else {
				out = append(out, values[r.IntN(len(values))]...)
			}
		}
		out = append(out, "}}\n"...)
	}
	return out
}

// emoji is sentences of emoji: joined, toned, flags and keycaps.
func emoji(r *rand.Rand, n int) []byte {
	single := []rune("😀😂🥹🫠🔥✨🚀💡🐍🦀☕❤✅⚠🧑👩👨👍🙏🎉🪿🫨")
	var out []byte
	for len(out) < n {
		out = append(out, string(single[r.IntN(len(single))])...)
		switch r.IntN(8) {
		case 0:
			out = append(out, "\U0001F3FD"...) // skin tone
		case 1:
			out = append(out, "\u200D💻"...) // joined
		case 2:
			out = append(out, "\uFE0F"...) // as a picture
		case 3:
			out = append(out, string([]rune{rune(0x1F1E6 + r.IntN(26)), rune(0x1F1E6 + r.IntN(26))})...)
		case 4:
			out = append(out, "3\uFE0F\u20E3 "...)
		case 5:
			out = append(out, " great work! "...)
		case 6:
			out = append(out, "！ありがとう "...)
		}
	}
	return out
}
