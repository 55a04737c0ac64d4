package split

import "slices"

// Known identifies a family by its patterns: the regular expressions of the
// pre_tokenizer's Split steps in order (one for most families, three for DeepSeek),
// exactly as written in the file. Nothing close to one is taken for it.
func Known(patterns []string) (Family, bool) {
	for _, k := range known {
		if slices.Equal(k.patterns, patterns) {
			return k.family, true
		}
	}
	return "", false
}

// KnownTiktoken identifies the family of the pattern of a tiktoken vocabulary, which
// Rust's regular expressions read. Where they and Oniguruma read a pattern alike, it
// is known to both functions; {1,3}+ for one they do not.
func KnownTiktoken(pattern string) (Family, bool) {
	switch pattern {
	case `'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s`:
		return GPT2, true
	case `'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s`:
		return Tiktoken, true
	}
	return Known([]string{pattern})
}

const (
	contractionsPattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	spacePattern        = `\s*[\r\n]+|\s+(?!\S)|\s+`
	wordPattern         = `|[^\r\n\p{L}\p{N}]?\p{L}+|`
	symbolPattern       = ` ?[^\s\p{L}\p{N}]+[\r\n]*|`

	upperPattern = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
	lowerPattern = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
	beforeWord   = `[^\r\n\p{L}\p{N}]?`

	upperNoHan = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]`
	lowerNoHan = `[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]`
)

// known holds every spelling that was met; each is tested against the engine that
// reads it.
var known = []struct {
	family   Family
	patterns []string
}{
	{GPT2, []string{`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`}},
	{GPT2, []string{`'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`}},
	{CL100K, []string{contractionsPattern + wordPattern + `\p{N}{1,3}|` + symbolPattern + spacePattern}},
	{CL100K, []string{contractionsPattern + wordPattern + `\p{N}{1,3}|` + symbolPattern + `\s*[\r\n]|\s+(?!\S)|\s+`}},
	{Qwen2, []string{contractionsPattern + wordPattern + `\p{N}|` + symbolPattern + spacePattern}},
	{Qwen2, []string{`'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+`}}, // Ling, LLaDA
	{Seed, []string{contractionsPattern + wordPattern + `\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|` + spacePattern}},
	{Seed, []string{
		contractionsPattern + "|[^\r\n" + `\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}` + "\r\n]+|" +
			`\s*[` + "\r\n" + `]+|\s+(?!\S)|\s+`,
	}},
	{MiniCPM5, []string{`\p{N}{1,3}`, contractionsPattern + wordPattern + `\p{N}+|` + symbolPattern + spacePattern}},
	{Qwen35, []string{contractionsPattern + `|` + beforeWord + `[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|` + spacePattern}},
	{O200K, []string{
		beforeWord + upperPattern + `*` + lowerPattern + `+` + contractionsPattern + `?|` +
			beforeWord + upperPattern + `+` + lowerPattern + `*` + contractionsPattern + `?|` +
			`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|` + spacePattern,
	}},
	{Tekken, []string{
		beforeWord + upperPattern + `*` + lowerPattern + `+|` +
			beforeWord + upperPattern + `+` + lowerPattern + `*|` +
			`\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|` + spacePattern,
	}},
	{Kimi, []string{
		`[\p{Han}]+|` +
			beforeWord + upperNoHan + `*` + lowerNoHan + `+` + contractionsPattern + `?|` +
			beforeWord + upperNoHan + `+` + lowerNoHan + `*` + contractionsPattern + `?|` +
			`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|` + spacePattern,
	}},
	{DeepSeek3, []string{
		`\p{N}{1,3}`,
		`[一-龥぀-ゟ゠-ヿ]+`,
		`[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_` + "`" + `{|}~][A-Za-z]+|[^` + "\r\n" + `\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|` +
			` ?[\p{P}\p{S}]+[` + "\r\n" + `]*|\s*[` + "\r\n" + `]+|\s+(?!\S)|\s+`,
	}},
}
