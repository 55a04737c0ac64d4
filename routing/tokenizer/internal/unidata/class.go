package unidata

// Version is a version of the Unicode character classes.
type Version uint8

// The versions that engines have; the zero value is the current one.
const (
	V16 Version = iota
	V14
)

// Class is a set of properties of a code point.
type Class uint16

// Properties that pre-tokenizers ask for; gen/gen.py has the same order.
const (
	Letter  Class = 1 << iota // \p{L}
	Number                    // \p{N}
	Space                     // \s of Oniguruma and Rust: White_Space
	Newline                   // \r \n
	Upper                     // \p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}: first run of o200k
	Lower                     // \p{Ll}\p{Lm}\p{Lo}\p{M}: second run of o200k
	Mark                      // \p{M}
	Punct                     // \p{P}
	Symbol                    // \p{S}
	Han                       // \p{Han} (Kimi)
	KanaHan                   // [一-龥぀-ゟ゠-ヿ]: the second split of DeepSeek
	Numeric                   // char::is_numeric of Rust (the pre_tokenizer Digits)
)
