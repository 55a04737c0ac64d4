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

// Properties that pre-tokenizers ask for.
const (
	Letter  Class = 1 << iota // \p{L}
	Number                    // \p{N}
	Space                     // \s of Oniguruma: White_Space
	Newline                   // \r \n
	Upper                     // \p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}: first run of o200k
	Lower                     // \p{Ll}\p{Lm}\p{Lo}\p{M}: second run of o200k
	Mark                      // \p{M}
	Punct                     // \p{P}
	Symbol                    // \p{S}
	Han                       // \p{Han} (Kimi)
)

// Table gives the class of every code point. It is immutable.
type Table struct{}

// Classes returns the table of a version.
func Classes(v Version) *Table { panic("not built yet") }

// Of returns the class of r; 0 for what is no scalar value.
func (t *Table) Of(r rune) Class { panic("not built yet") }
