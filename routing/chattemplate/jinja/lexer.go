package jinja

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// token is the kind of a token.
type token uint8

const (
	tokenEOF token = iota
	tokenData
	tokenVariableBegin
	tokenVariableEnd
	tokenBlockBegin
	tokenBlockEnd
	tokenName
	tokenString
	tokenInteger
	tokenFloat
	tokenAdd
	tokenSub
	tokenMul
	tokenDiv
	tokenFloorDiv
	tokenMod
	tokenPow
	tokenTilde
	tokenLBracket
	tokenRBracket
	tokenLParen
	tokenRParen
	tokenLBrace
	tokenRBrace
	tokenEq
	tokenNe
	tokenGt
	tokenGe
	tokenLt
	tokenLe
	tokenAssign
	tokenDot
	tokenColon
	tokenPipe
	tokenComma
	tokenSemicolon
	tokenIn // of comparisons only
	tokenNotIn
)

// operators are the texts of tokens, the longer ones first.
var operators = []struct {
	text string
	kind token
}{
	{"//", tokenFloorDiv},
	{"**", tokenPow},
	{"==", tokenEq},
	{"!=", tokenNe},
	{">=", tokenGe},
	{"<=", tokenLe},
	{"+", tokenAdd},
	{"-", tokenSub},
	{"/", tokenDiv},
	{"*", tokenMul},
	{"%", tokenMod},
	{"~", tokenTilde},
	{"[", tokenLBracket},
	{"]", tokenRBracket},
	{"(", tokenLParen},
	{")", tokenRParen},
	{"{", tokenLBrace},
	{"}", tokenRBrace},
	{">", tokenGt},
	{"<", tokenLt},
	{"=", tokenAssign},
	{".", tokenDot},
	{":", tokenColon},
	{"|", tokenPipe},
	{",", tokenComma},
	{";", tokenSemicolon},
}

// lexeme is one token of the source.
type lexeme struct {
	kind token
	line int
	text string // without quotes and escapes for a string
}

// lexer splits a source into lexemes as Jinja does with trim_blocks and
// lstrip_blocks.
type lexer struct {
	src      string
	at       int
	line     int
	out      []lexeme
	brackets []byte // closing brackets awaited
	newline  bool   // the last match ended a line
}

func lex(source string) ([]lexeme, error) {
	source = strings.ReplaceAll(source, "\r\n", "\n")
	source = strings.ReplaceAll(source, "\r", "\n")
	l := lexer{src: strings.TrimSuffix(source, "\n"), line: 1, newline: true}
	for l.at < len(l.src) {
		if err := l.root(); err != nil {
			return nil, err
		}
	}
	l.add(tokenEOF, "")
	return l.out, nil
}

func (l *lexer) errorf(format string, args ...any) error {
	return fmt.Errorf("%w: line %d: %s", ErrSyntax, l.line, fmt.Sprintf(format, args...))
}

func (l *lexer) add(kind token, text string) {
	l.out = append(l.out, lexeme{kind, l.line, text})
}

// advance moves past n bytes.
func (l *lexer) advance(n int) {
	if n == 0 {
		return
	}
	passed := l.src[l.at : l.at+n]
	l.line += strings.Count(passed, "\n")
	l.newline = passed[n-1] == '\n'
	l.at += n
}

// data adds text up to a tag whose sign of white space control is given.
func (l *lexer) data(text string, sign byte, block bool) {
	kept := text
	switch {
	case sign == '-':
		kept = trimRight(text)
	case sign == 0 && block:
		start := strings.LastIndexByte(text, '\n') + 1
		if (start > 0 || l.newline) && isBlank(text[start:]) {
			kept = text[:start]
		}
	}
	if kept != "" {
		l.add(tokenData, kept)
	}
}

// sign reads the sign of white space control at position i, 0 when there is none.
func (l *lexer) sign(i int) byte {
	if i < len(l.src) && (l.src[i] == '-' || l.src[i] == '+') {
		return l.src[i]
	}
	return 0
}

// root reads text and the tag that ends it.
func (l *lexer) root() error {
	rest := l.src[l.at:]
	begin := 0
	for {
		next := strings.IndexByte(rest[begin:], '{')
		if next < 0 || begin+next+1 >= len(rest) {
			l.add(tokenData, rest)
			l.at = len(l.src)
			return nil
		}
		begin += next
		if c := rest[begin+1]; c == '{' || c == '%' || c == '#' {
			break
		}
		begin++
	}
	text, kind := rest[:begin], rest[begin+1]
	sign := l.sign(l.at + begin + 2)
	width := 2
	if sign != 0 {
		width = 3
	}
	if kind == '%' {
		if n := rawBegin(rest[begin+width:]); n > 0 {
			l.data(text, sign, true)
			l.advance(begin + width + n)
			return l.raw()
		}
	}
	l.data(text, sign, kind != '{')
	l.advance(begin + width)
	switch kind {
	case '#':
		return l.comment()
	case '%':
		return l.block()
	default:
		return l.variable()
	}
}

// rawBegin is the length of the rest of a raw tag, 0 if it is another.
func rawBegin(s string) int {
	rest := trimLeft(s)
	rest, ok := strings.CutPrefix(rest, "raw")
	if !ok {
		return 0
	}
	rest = trimLeft(rest)
	if after, ok := strings.CutPrefix(rest, "-%}"); ok {
		return len(s) - len(trimLeft(after))
	}
	if after, ok := strings.CutPrefix(rest, "%}"); ok {
		return len(s) - len(after)
	}
	return 0
}

// tagEnd is the length of the end of a tag at the start of s, 0 if there is none.
func tagEnd(s, end string) int {
	switch {
	case strings.HasPrefix(s, "+"+end):
		return 3
	case strings.HasPrefix(s, "-"+end):
		return len(s) - len(trimLeft(s[3:]))
	case strings.HasPrefix(s, end+"\n"):
		return 3
	case strings.HasPrefix(s, end):
		return 2
	}
	return 0
}

// raw reads up to the end of a raw block.
func (l *lexer) raw() error {
	rest := l.src[l.at:]
	for begin := 0; ; begin += 2 {
		next := strings.Index(rest[begin:], "{%")
		if next < 0 {
			return l.errorf("missing end of raw directive")
		}
		begin += next
		sign, width := l.sign(l.at+begin+2), 2
		if sign != 0 {
			width = 3
		}
		inner := trimLeft(rest[begin+width:])
		inner, ok := strings.CutPrefix(inner, "endraw")
		if !ok {
			continue
		}
		inner = trimLeft(inner)
		if n := tagEnd(inner, "%}"); n > 0 {
			l.data(rest[:begin], sign, true)
			l.advance(len(rest) - len(inner) + n)
			return nil
		}
	}
}

func (l *lexer) comment() error {
	rest := l.src[l.at:]
	end := strings.Index(rest, "#}")
	if end < 0 {
		return l.errorf("missing end of comment tag")
	}
	if end > 0 && (rest[end-1] == '-' || rest[end-1] == '+') {
		end--
	}
	l.advance(end + tagEnd(rest[end:], "#}"))
	return nil
}

func (l *lexer) block() error {
	l.add(tokenBlockBegin, "")
	for {
		if len(l.brackets) == 0 {
			if n := tagEnd(l.src[l.at:], "%}"); n > 0 {
				l.add(tokenBlockEnd, "")
				l.advance(n)
				return nil
			}
		}
		if done, err := l.inside(); done || err != nil {
			return err
		}
	}
}

func (l *lexer) variable() error {
	l.add(tokenVariableBegin, "")
	for {
		rest := l.src[l.at:]
		if len(l.brackets) == 0 {
			if after, ok := strings.CutPrefix(rest, "-}}"); ok {
				l.add(tokenVariableEnd, "")
				l.advance(len(rest) - len(trimLeft(after)))
				return nil
			}
			if strings.HasPrefix(rest, "}}") {
				l.add(tokenVariableEnd, "")
				l.advance(2)
				return nil
			}
		}
		if done, err := l.inside(); done || err != nil {
			return err
		}
	}
}

// inside reads one token of an expression; done says that the source has ended.
func (l *lexer) inside() (done bool, err error) {
	rest := l.src[l.at:]
	if rest == "" {
		return true, nil
	}
	if blank := len(rest) - len(trimLeft(rest)); blank > 0 {
		l.advance(blank)
		return false, nil
	}
	c := rest[0]
	switch {
	case c >= '0' && c <= '9':
		kind, n := number(rest, l.at > 0 && l.src[l.at-1] == '.')
		l.add(kind, strings.ReplaceAll(rest[:n], "_", ""))
		l.advance(n)
		return false, nil
	case c == '\'' || c == '"':
		return false, l.quoted(rest)
	}
	if n := nameLength(rest); n > 0 {
		l.add(tokenName, rest[:n])
		l.advance(n)
		return false, nil
	}
	return false, l.operator(rest)
}

// nameLength is the length of the identifier at the start of s.
func nameLength(s string) int {
	n := 0
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if !isNamePart(r, n == 0) {
			break
		}
		n += size
	}
	return n
}

func (l *lexer) operator(rest string) error {
	for _, o := range operators {
		if !strings.HasPrefix(rest, o.text) {
			continue
		}
		if err := l.balance(rest[0]); err != nil {
			return err
		}
		l.add(o.kind, o.text)
		l.advance(len(o.text))
		return nil
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return l.errorf("unexpected char %q", r)
}

// balance keeps account of the brackets: tags end only outside all of them.
func (l *lexer) balance(c byte) error {
	switch c {
	case '{':
		l.brackets = append(l.brackets, '}')
	case '(':
		l.brackets = append(l.brackets, ')')
	case '[':
		l.brackets = append(l.brackets, ']')
	case '}', ')', ']':
		last := len(l.brackets) - 1
		if last < 0 || l.brackets[last] != c {
			return l.errorf("unexpected %q", c)
		}
		l.brackets = l.brackets[:last]
	}
	return nil
}
