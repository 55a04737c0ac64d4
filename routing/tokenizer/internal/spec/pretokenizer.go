package spec

// preTokenizers reads a pre_tokenizer, Sequences flattened, onto steps.
func preTokenizers(steps []PreTokenizer, data []byte, depth int) ([]PreTokenizer, error) {
	if null(data) {
		return steps, nil
	}
	o := newObject("pre_tokenizer", data)
	p := PreTokenizer{Kind: o.text("type")}
	if p.Kind == "Sequence" {
		return o.eachSplit(steps, depth)
	}
	o.preTokenizer(&p)
	return append(steps, p), o.end()
}

// preTokenizer reads the options of one kind.
func (o *object) preTokenizer(p *PreTokenizer) {
	behaviors := []string{"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"}
	switch p.Kind {
	case "Whitespace", "WhitespaceSplit", "BertPreTokenizer":
	case "ByteLevel":
		p.AddPrefixSpace = o.bool("add_prefix_space", true)
		p.UseRegex = o.bool("use_regex", true)
		o.bool("trim_offsets", true) // moves offsets, not ids
	case "Split":
		p.Pattern = o.pattern("pattern")
		p.Behavior = o.choice("behavior", "", behaviors...)
		p.Invert = o.bool("invert", false)
	case "Punctuation":
		p.Behavior = o.choice("behavior", "Isolated", behaviors...)
	case "Digits":
		p.Individual = o.bool("individual_digits", false)
	case "Metaspace":
		o.metaspace(p)
	case "Delimiter", "CharDelimiterSplit":
		p.Kind, p.Delimiter = "Delimiter", o.character("delimiter")
	case "FixedLength":
		p.Length = 5
		o.into("length", &p.Length)
		if p.Length < 1 {
			o.fail(Invalid("pre_tokenizer FixedLength of %d", p.Length))
		}
	default:
		o.fail(Unsupported("pre_tokenizer", p.Kind))
	}
}

// metaspace reads the options of Metaspace, old names included.
func (o *object) metaspace(p *PreTokenizer) {
	p.Replacement = o.character("replacement")
	p.Prepend = o.choice("prepend_scheme", "always", "first", "always", "never")
	p.Split = o.bool("split", true)
	if prefix := o.bool("add_prefix_space", true); !prefix {
		if p.Prepend != "never" {
			o.fail(Invalid("pre_tokenizer Metaspace: add_prefix_space contradicts prepend_scheme"))
		}
	}
	o.text("str_rep") // the replacement once more
}

// eachSplit reads the steps of a Sequence.
func (o *object) eachSplit(steps []PreTokenizer, depth int) ([]PreTokenizer, error) {
	value, _ := o.take("pretokenizers")
	if err := o.end(); err != nil {
		return nil, err
	}
	if depth == deepest {
		return nil, Invalid("pre_tokenizer: too many Sequences inside each other")
	}
	parts, err := list("pretokenizers", value)
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		if steps, err = preTokenizers(steps, part, depth+1); err != nil {
			return nil, err
		}
	}
	return steps, nil
}
