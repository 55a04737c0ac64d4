package scan

import "bytes"

// promptValue reads a value that is part of the prompt and measures it.
func (s *scanner) promptValue(as role) bool {
	r, start, first := s.out, s.i, s.peek()
	count, ok := 0, false
	switch {
	case as == rolePrompt && first == '[' && r.Kind != KindResponses:
		count, ok = s.promptList()
	case as == rolePart:
		ok = s.value()
	default:
		// Messages, and the input of a response, are one prompt of many parts.
		s.media = true
		ok = s.value()
		s.media = false
		count = 1
	}
	if !ok || first == 'n' {
		return ok
	}
	if r.Kind == KindChat {
		count = min(count, 1) // documents and token ids belong to the one conversation
	}
	r.PromptCount = max(r.PromptCount, count)
	r.PromptBytes += s.i - start
	return true
}

// promptList reads an array: token ids of one prompt, or one prompt per element.
func (s *scanner) promptList() (count int, ok bool) {
	s.values++
	if !s.push() {
		return 0, false
	}
	if s.peek() == ']' {
		s.i++
		s.depth--
		return 0, true
	}
	ids := 0
	for more := true; more; {
		ids += s.integers()
		switch c := s.peek(); {
		case isDigit(c):
			ids++
			ok = s.value()
		case c == '[':
			count++
			ok = s.idList()
		default:
			count++
			s.media = true
			ok = s.value()
			s.media = false
		}
		if !ok {
			return 0, false
		}
		if more, ok = s.sep(']'); !ok {
			return 0, false
		}
	}
	if ids > 0 {
		s.out.TokenIDs = true
		s.out.PromptTokens += ids
		count++
	}
	return count, true
}

// idList reads the token ids of one prompt in a list of prompts.
func (s *scanner) idList() bool {
	start := s.i + 1
	s.values++
	before := s.values
	if !s.array() {
		return false
	}
	for isSpace(s.b[start]) {
		start++
	}
	if isDigit(s.b[start]) {
		s.out.TokenIDs = true
		s.out.PromptTokens += s.values - before
	}
	return true
}

// mediaMember looks at one member of an object in a chat message. It counts the
// object once if the member makes it a media part, and inline data by size.
func (s *scanner) mediaMember(key Span, escaped bool, start int, counted bool) bool {
	r, name, v := s.out, s.b[key.Start+1:key.End-1], s.b[start:s.i]
	if bytes.HasPrefix(v, []byte(`"data:`)) || v[0] == '"' && string(name) == "data" {
		r.MediaBytes += len(v)
	}
	if counted || !(escaped || mediaKey(name) || string(name) == "type" && mediaType(v)) {
		return counted
	}
	// An escaped name counts: no client writes one, unless to hide it.
	r.MediaParts++
	return true
}

func mediaKey(name []byte) bool {
	switch string(name) {
	case "image_url", "video_url", "audio_url", "input_audio", "image_pil",
		"image_embeds", "audio_embeds", "image_data", "video_data", "audio_data":
		return true
	}
	return false
}

func mediaType(raw []byte) bool {
	switch string(raw) {
	case `"image"`, `"video"`, `"audio"`, `"document"`, `"file"`, `"image_url"`, `"video_url"`, `"audio_url"`,
		`"input_image"`, `"input_audio"`, `"input_file"`, `"input_video"`:
		return true
	}
	return false
}
