package split

// contraction ends (?i:'s|'t|'re|'ve|'m|'ll|'d) at i, where text has an apostrophe;
// 0 if there is none. Of all characters beyond ASCII only the long s folds to one of
// these letters, in Oniguruma and in Rust alike.
func contraction(text []byte, i int) int {
	rest := text[i+1:]
	if len(rest) == 0 {
		return 0
	}
	switch rest[0] {
	case 's', 't', 'm', 'd', 'S', 'T', 'M', 'D':
		return i + 2
	case 'r', 'v', 'R', 'V':
		if len(rest) > 1 && rest[1]|0x20 == 'e' {
			return i + 3
		}
	case 'l', 'L':
		if len(rest) > 1 && rest[1]|0x20 == 'l' {
			return i + 3
		}
	case 0xC5:
		if len(rest) > 1 && rest[1] == 0xBF {
			return i + 3
		}
	}
	return 0
}

// smallContraction is contraction for small letters only, as GPT-2 has it.
func smallContraction(text []byte, i int) int {
	rest := text[i+1:]
	if len(rest) == 0 {
		return 0
	}
	switch rest[0] {
	case 's', 't', 'm', 'd':
		return i + 2
	case 'r', 'v':
		if len(rest) > 1 && rest[1] == 'e' {
			return i + 3
		}
	case 'l':
		if len(rest) > 1 && rest[1] == 'l' {
			return i + 3
		}
	}
	return 0
}
