package split

import "penstock/routing/tokenizer/internal/unidata"

// Splitter cuts text into pieces. It is immutable and safe for concurrent use.
type Splitter interface {
	// Split cuts the pieces of text that begin at from, writes the end offset of
	// each into ends, in order, and returns how many it wrote: len(ends), or fewer
	// when the text ended. Pieces follow each other without gaps; text is valid
	// UTF-8. The next call begins at the last end. Calling with from == len(text)
	// returns 0. The cuts do not depend on how many ends fit.
	Split(text []byte, from int, ends []int) int
}

// Family is a known pre-tokenizer.
type Family string

// The families with a scanner; see Known for what identifies each.
const (
	GPT2      Family = "gpt2"
	CL100K    Family = "cl100k" // Llama 3, GLM-4, Phi-4: digits {1,3}
	Qwen2     Family = "qwen2"  // Qwen 2, 2.5, 3: single digits
	Qwen35    Family = "qwen3_5"
	O200K     Family = "o200k" // GPT-4o, gpt-oss, Llama 4
	Tekken    Family = "tekken"
	DeepSeek3 Family = "deepseek_v3" // V3, R1, V3.1, V3.2, V4
	Kimi      Family = "kimi"        // K2
)

// New returns the scanner of a family.
func New(f Family, v unidata.Version) (Splitter, bool) { panic("not built yet") }

// Known identifies a family by its patterns: the regular expressions of the
// pre_tokenizer's Split steps in order (one for most families, three for DeepSeek),
// exactly as written in the file. Nothing close to one is taken for it.
func Known(patterns []string) (Family, bool) { panic("not built yet") }
