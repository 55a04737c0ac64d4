package spec

import "encoding/json"

// postProcessors reads a post_processor, Sequences flattened, onto steps.
func postProcessors(steps []PostProcessor, data []byte, depth int) ([]PostProcessor, error) {
	if null(data) {
		return steps, nil
	}
	o := newObject("post_processor", data)
	p := PostProcessor{Kind: o.text("type")}
	switch p.Kind {
	case "Sequence":
		return o.eachPost(steps, depth)
	case "ByteLevel":
		o.bool("add_prefix_space", true) // all three move offsets, not ids
		o.bool("trim_offsets", true)
		o.bool("use_regex", true)
	case "BertProcessing", "RobertaProcessing":
		p.Before, p.After = o.tokenID("cls"), o.tokenID("sep")
		o.bool("trim_offsets", true)
		o.bool("add_prefix_space", true)
	case "TemplateProcessing":
		o.template(&p)
	default:
		o.fail(Unsupported("post_processor", p.Kind))
	}
	return append(steps, p), o.end()
}

// eachPost reads the steps of a Sequence.
func (o *object) eachPost(steps []PostProcessor, depth int) ([]PostProcessor, error) {
	value, _ := o.take("processors")
	if err := o.end(); err != nil {
		return nil, err
	}
	if depth == deepest {
		return nil, Invalid("post_processor: too many Sequences inside each other")
	}
	parts, err := list("processors", value)
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		if steps, err = postProcessors(steps, part, depth+1); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// tokenID reads ["</s>", 2].
func (o *object) tokenID(key string) []uint32 {
	var pair []json.RawMessage
	if !o.into(key, &pair) || len(pair) != 2 {
		o.fail(Invalid("%s: %s is no pair of a text and an id", o.part, key))
		return nil
	}
	var id uint32
	if json.Unmarshal(pair[1], &id) != nil {
		o.fail(Invalid("%s: %s has no id", o.part, key))
	}
	return []uint32{id}
}

// piece is one element of a template: one of the two is there.
type piece struct {
	SpecialToken *pieceName
	Sequence     *pieceName
}

type pieceName struct {
	ID string `json:"id"`
}

// template reads TemplateProcessing; only its template for one text matters.
func (o *object) template(p *PostProcessor) {
	var single []piece
	var tokens map[string]struct {
		IDs []uint32 `json:"ids"`
	}
	if !o.into("single", &single) {
		o.fail(Invalid("%s has no template", o.part))
	}
	o.into("special_tokens", &tokens)
	o.take("pair")
	texts := 0
	for _, part := range single {
		switch {
		case part.Sequence != nil && part.Sequence.ID == "A":
			texts++
		case part.SpecialToken != nil && texts == 0:
			p.Before = append(p.Before, tokens[part.SpecialToken.ID].IDs...)
		case part.SpecialToken != nil:
			p.After = append(p.After, tokens[part.SpecialToken.ID].IDs...)
		default:
			o.fail(Unsupported("post_processor template piece", "not A and no special token"))
		}
		if part.SpecialToken != nil && tokens[part.SpecialToken.ID].IDs == nil {
			o.fail(Invalid("post_processor: no ids for %q", part.SpecialToken.ID))
		}
	}
	if texts != 1 {
		o.fail(Unsupported("post_processor template", "the text is not in it once"))
	}
}
