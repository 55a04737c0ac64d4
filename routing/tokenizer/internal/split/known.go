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
