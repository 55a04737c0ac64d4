package spec

import "encoding/base64"

// normalizers reads a normalizer, Sequences flattened, onto steps.
func normalizers(steps []Normalizer, data []byte, depth int) ([]Normalizer, error) {
	if null(data) {
		return steps, nil
	}
	o := newObject("normalizer", data)
	n := Normalizer{Kind: o.text("type")}
	switch n.Kind {
	case "Sequence":
		return o.each(steps, depth)
	case "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel":
	case "BertNormalizer":
		n.CleanText = o.bool("clean_text", true)
		n.ChineseChars = o.bool("handle_chinese_chars", true)
		n.Lowercase = o.bool("lowercase", true)
		n.StripAccents = o.bool("strip_accents", n.Lowercase)
	case "Strip":
		n.Left, n.Right = o.bool("strip_left", true), o.bool("strip_right", true)
	case "Prepend":
		n.Text = o.text("prepend")
	case "Replace":
		n.Pattern, n.Text = o.pattern("pattern"), o.text("content")
	case "Precompiled":
		charsmap, err := base64.StdEncoding.DecodeString(o.text("precompiled_charsmap"))
		if err != nil {
			return nil, Invalid("normalizer: precompiled_charsmap is not base64")
		}
		n.Charsmap = charsmap
	default:
		o.fail(Unsupported("normalizer", n.Kind))
	}
	return append(steps, n), o.end()
}

// each reads the steps of a Sequence.
func (o *object) each(steps []Normalizer, depth int) ([]Normalizer, error) {
	value, _ := o.take("normalizers")
	if err := o.end(); err != nil {
		return nil, err
	}
	if depth == deepest {
		return nil, Invalid("normalizer: too many Sequences inside each other")
	}
	parts, err := list("normalizers", value)
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		if steps, err = normalizers(steps, part, depth+1); err != nil {
			return nil, err
		}
	}
	return steps, nil
}
