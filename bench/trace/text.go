package trace

// bytesPerToken is how much English text one token stands for, and what the
// pseudo tokenizer of the simulated engines takes.
const bytesPerToken = 4

// syllables are joined into words; none needs escaping in JSON.
var syllables = [32]string{
	"ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "qui", "ro", "su", "ta",
	"ve", "wi", "xo", "yu", "za", "bre", "cli", "dro", "flu", "gra", "ple", "sti", "tro", "sna", "she", "thi",
}

// AppendText appends n bytes of made-up prose that depend on id alone. A longer
// text of the same id starts with the shorter one.
func AppendText(dst []byte, id uint64, n int) []byte {
	end := len(dst) + n
	state := id
	for len(dst) < end {
		w := mix(&state)
		for range 1 + w>>62 { // one to four syllables
			dst = append(dst, syllables[w&31]...)
			w >>= 5
		}
		if w&15 == 0 {
			dst = append(dst, '.')
		}
		dst = append(dst, ' ')
	}
	return dst[:end]
}

// mix is one step of splitmix64: the stream differs for neighbouring ids.
func mix(state *uint64) uint64 {
	*state += 0x9e3779b97f4a7c15
	z := *state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// scramble maps an id and a salt to the seed of a text, so that small ids of
// neighbouring value do not walk the same stream one step apart.
func scramble(id, salt uint64) uint64 {
	s := id ^ salt*0xd6e8feb86659fd93
	return mix(&s)
}
