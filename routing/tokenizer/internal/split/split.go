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
	GPT2       Family = "gpt2"
	GPT2Digits Family = "gpt2_digits" // every number alone, then GPT-2: StarCoder, Command R
	CL100K     Family = "cl100k"      // Llama 3, GLM-4, Phi-4, OLMo 2: digits {1,3}
	Tiktoken   Family = "tiktoken"    // cl100k as tiktoken has it since 0.8: space at the end is one piece
	Qwen2      Family = "qwen2"       // Qwen 2, 2.5, 3: single digits
	Qwen35     Family = "qwen3_5"     // marks belong to words
	Seed       Family = "seed"        // Qwen2 without line ends after symbols
	MiniCPM5   Family = "minicpm5"    // numbers first, in threes, then cl100k
	O200K      Family = "o200k"       // GPT-4o, gpt-oss, Llama 4
	Tekken     Family = "tekken"      // Mistral, Nemotron: no contractions, single digits
	DeepSeek3  Family = "deepseek_v3" // V3, R1, V3.1, V3.2, V4
	Kimi       Family = "kimi"        // K2
)

// New returns the scanner of a family.
func New(f Family, v unidata.Version) (Splitter, bool) {
	t := unidata.Classes(v)
	const word = unidata.Letter
	const marked = unidata.Letter | unidata.Mark
	switch f {
	case GPT2:
		return newGPT2(t, 0), true
	case GPT2Digits:
		return newGPT2(t, unidata.Numeric), true
	case CL100K:
		return newCL100K(t, cl100kForm{word: word, digits: 3}), true
	case Tiktoken:
		return newCL100K(t, cl100kForm{word: word, digits: 3, wholeEnd: true}), true
	case Qwen2:
		return newCL100K(t, cl100kForm{word: word, digits: 1}), true
	case Qwen35:
		return newCL100K(t, cl100kForm{word: marked, digits: 1}), true
	case Seed:
		return newCL100K(t, cl100kForm{word: word, digits: 1, noTail: true}), true
	case MiniCPM5:
		return newCL100K(t, cl100kForm{word: word, digits: 3, alone: unidata.Number}), true
	case O200K:
		return newO200K(t, o200kForm{contractions: true, slash: true, digits: 3}), true
	case Tekken:
		return newO200K(t, o200kForm{slash: true, digits: 1}), true
	case Kimi:
		return newO200K(t, o200kForm{contractions: true, digits: 3, han: true}), true
	case DeepSeek3:
		return newDeepSeek(t), true
	}
	return nil, false
}
