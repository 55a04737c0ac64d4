package scan

import "math"

// Scan reads body into out, which it resets but whose memory it reuses. On error
// (always an *Error) out must not be used.
func Scan(body []byte, kind Kind, lim Limits, out *Result) error {
	out.reset(kind, len(body))
	s := scanner{b: body, lim: lim.withDefaults(), out: out}
	if s.document() {
		out.finish()
		return nil
	}
	failure := s.err // copied, so that the scanner itself stays on the stack
	return &failure
}

func (s *scanner) document() bool {
	s.space()
	var ok bool
	switch {
	case s.peek() == '{':
		s.out.open = s.i + 1
		s.out.Members, ok = s.membersOf(scopeTop, -1)
	case s.out.Kind == KindGeneric:
		ok = s.value()
	case s.i >= len(s.b):
		return s.failHere("")
	default:
		start := s.i
		return s.value() && s.fail(ErrType, start, "expected an object")
	}
	if !ok {
		return false
	}
	s.space()
	if s.i < len(s.b) {
		return s.failHere("data after the document")
	}
	return true
}

// membersOf walks the object at s.i, records the fields of its scope, and
// returns how many members there are. parent is the recorded member it belongs to.
func (s *scanner) membersOf(sc scope, parent int) (n int, ok bool) {
	if !s.push() {
		return 0, false
	}
	if s.peek() == '}' {
		s.i++
		s.depth--
		return 0, true
	}
	last, prevEnd := -1, 0
	for more := true; more; n++ {
		key, escaped, ok := s.key()
		if !ok {
			return 0, false
		}
		if last >= 0 {
			s.out.members[last].nextStart = key.Start
			last = -1
		}
		if f := s.field(sc, key, escaped); f == FieldNone {
			ok = s.value()
		} else {
			last, ok = s.member(f, Member{Field: f, Key: key, prevEnd: prevEnd, parent: parent, children: -1})
		}
		if !ok {
			return 0, false
		}
		prevEnd = s.i
		if more, ok = s.sep('}'); !ok {
			return 0, false
		}
	}
	return n, true
}

func (s *scanner) field(sc scope, key Span, escaped bool) Field {
	raw := s.b[key.Start+1 : key.End-1]
	if !escaped {
		return lookup(sc, raw, s.out.Kind)
	}
	// No name is longer than maxKey, so a few more characters tell; a client
	// must not make scratch grow by a long one.
	end := 0
	for n := 0; end < len(raw) && n <= maxKey; n++ {
		if raw[end] == '\\' {
			end += escapeLen(raw[end:])
		} else {
			end++
		}
	}
	raw = raw[:end]
	keep := len(s.out.scratch)
	name, _ := unescape(s.out.scratch, raw)
	s.out.scratch = name[:keep]
	return lookup(sc, name[keep:], s.out.Kind)
}

// member records f, reads its value and takes from it what routing needs.
func (s *scanner) member(f Field, m Member) (at int, ok bool) {
	r := s.out
	if f != FieldBootstrapOther {
		if r.at[f] != 0 {
			if fields[f].hint {
				return s.repeated(f)
			}
			return 0, s.failField(ErrDuplicate, f, m.Key.Start, "repeated member")
		}
		r.at[f] = uint8(len(r.members) + 1)
	}
	if len(r.members) >= maxMembers {
		return 0, s.failField(ErrTooMany, f, m.Key.Start, "too many members")
	}
	at = len(r.members)
	r.members = append(r.members, m)

	start, first := s.i, s.peek()
	info := &fields[f]
	switch {
	case info.role != roleNone:
		ok = s.promptValue(info.role)
	case info.enter != scopeTop && first == '{':
		s.values++
		r.members[at].children, ok = s.membersOf(info.enter, at)
	case f == FieldSamplingParams && first == '[':
		ok = s.samplingList(at)
	default:
		ok = s.value()
	}
	if !ok {
		return 0, false
	}
	v := Span{start, s.i}
	r.members[at].Value = v
	if first == 'n' {
		return at, true
	}
	if !info.shape.allows(first) {
		if r.Kind == KindGeneric || info.hint {
			return at, true
		}
		return 0, s.failField(ErrType, f, v.Start, "wrong JSON type")
	}
	return at, s.take(f, v)
}

// repeated reads a hint that was there before: as in the engines' parsers, the
// last one counts. The first stays recorded, for hints are never edited.
func (s *scanner) repeated(f Field) (at int, ok bool) {
	start, first := s.i, s.peek()
	if !s.value() {
		return 0, false
	}
	at = int(s.out.at[f]) - 1
	if first == 'n' || !fields[f].shape.allows(first) {
		return at, true
	}
	return at, s.take(f, Span{start, s.i})
}

func (s *scanner) failField(class error, f Field, offset int, reason string) bool {
	s.fail(class, offset, reason)
	s.err.Field = f
	return false
}

func (h shape) allows(first byte) bool {
	switch h {
	case shapeString:
		return first == '"'
	case shapeBool:
		return first == 't' || first == 'f'
	case shapeInt:
		return first == '-' || isDigit(first)
	case shapeObject:
		return first == '{'
	case shapeStringOrObject:
		return first == '{' || first == '"'
	case shapeObjectOrArray:
		return first == '{' || first == '['
	default: // shapeAny
		return true
	}
}

// samplingList walks SGLang's batch form, one sampling_params object per prompt.
// Its members are read, and its limits added up as the largest of each, but only
// injection members stay recorded: there is no single place to edit.
func (s *scanner) samplingList(parent int) bool {
	s.values++
	if !s.push() {
		return false
	}
	if s.peek() == ']' {
		s.i++
		s.depth--
		return true
	}
	r := s.out
	for more := true; more; {
		var ok bool
		before := len(r.members)
		if s.peek() == '{' {
			s.values++
			_, ok = s.membersOf(scopeSampling, parent)
		} else {
			ok = s.value()
		}
		if !ok {
			return false
		}
		r.forgetElement(before)
		if more, ok = s.sep(']'); !ok {
			return false
		}
	}
	return true
}

// forgetElement makes room for the next object of a list: its names may come
// again, and its members are dropped unless some of them may have to be cut.
func (r *Result) forgetElement(from int) {
	injected := false
	for _, m := range r.members[from:] {
		injected = injected || m.Field.Injected()
		r.at[m.Field] = 0
	}
	if !injected {
		r.members = r.members[:from]
	}
}

// take copies the meaning of a value of the right type into the result.
func (s *scanner) take(f Field, v Span) bool {
	r := s.out
	first := s.b[v.Start]
	switch fields[f].shape {
	case shapeString, shapeStringOrObject:
		if first != '"' {
			return true
		}
		return s.takeString(f, v)
	case shapeInt:
		n, ok := integer(s.b[v.Start:v.End])
		if !ok {
			if r.Kind == KindGeneric || fields[f].hint {
				return true
			}
			return s.failField(ErrType, f, v.Start, "not an integer in range")
		}
		r.takeInt(f, n)
	case shapeBool:
		r.takeBool(f, first == 't')
	case shapeAny, shapeObject, shapeObjectOrArray:
	}
	return true
}

func (s *scanner) takeString(f Field, v Span) bool {
	if v.Len() > s.lim.StringBytes {
		if f == FieldModel {
			return s.failField(ErrTooMany, f, v.Start, "string too long")
		}
		return true // nothing is known by a name of this length
	}
	r := s.out
	raw := s.b[v.Start+1 : v.End-1 : v.End-1]
	for _, c := range raw {
		if c != '\\' {
			continue
		}
		keep := len(r.scratch)
		text, exact := unescape(r.scratch, raw)
		if !exact && fields[f].hint {
			return true
		}
		if !exact {
			return s.failField(ErrType, f, v.Start, "unpaired surrogate")
		}
		r.scratch = text
		raw = text[keep:len(text):len(text)]
		break
	}
	switch f {
	case FieldModel:
		r.Model = raw
	case FieldSessionID:
		r.SessionID = raw
	case FieldUser, FieldMetadataUserID:
		r.User = raw
	case FieldCacheSalt:
		r.CacheSalt = raw
	case FieldPromptCacheKey:
		r.PromptCacheKey = raw
	case FieldPreviousResponseID:
		r.PreviousResponseID = raw
	case FieldConversation, FieldConversationID:
		r.Conversation = raw
	case FieldSessionParamsID, FieldSessionParamsSessionID, FieldConversationParamsID:
		if r.at[FieldSessionID] == 0 && (r.SessionID == nil || f != FieldConversationParamsID) {
			r.SessionID = raw
		}
	default:
		panic("BUG: string field without a destination")
	}
	return true
}

func (r *Result) takeInt(f Field, n int64) {
	switch f {
	case FieldN, FieldSamplingN:
		r.N = int(min(max(n, 1, int64(r.N)), math.MaxInt32))
	case FieldMaxTokens:
		if r.at[FieldMaxCompletionTokens] == 0 {
			r.MaxTokens = n
		}
	case FieldMaxCompletionTokens:
		r.MaxTokens = n
	default:
		r.MaxTokens = max(r.MaxTokens, n)
	}
}

func (r *Result) takeBool(f Field, on bool) {
	switch f {
	case FieldStream:
		r.Stream = on
	case FieldIncludeUsage:
		r.IncludeUsage = on
	case FieldContinuousUsage:
		r.ContinuousUsage = on
	case FieldBackground:
		r.Background = on
	case FieldStore:
		r.Store = False
		if on {
			r.Store = True
		}
	default:
		panic("BUG: boolean field without a destination")
	}
}

// finish normalises what the engines refuse anyway, so that callers need not.
func (r *Result) finish() {
	r.MaxTokens = max(r.MaxTokens, -1)
	r.PromptBytes = max(r.PromptBytes-r.MediaBytes, 0)
}
