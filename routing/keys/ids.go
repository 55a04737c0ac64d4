package keys

import (
	"penstock/routing/chattemplate"
	"penstock/routing/tokenizer"
)

// AppendIDs appends the token ids of a whole prompt to dst, for whoever wants the ids
// themselves and not the keys of their blocks.
func AppendIDs(dst []uint32, e *tokenizer.Encoder, p *chattemplate.Prompt) ([]uint32, error) {
	for i := range p.Parts {
		part := &p.Parts[i]
		dst = append(dst, part.IDs...)
		if len(part.IDs) > 0 {
			continue
		}
		var err error
		if dst, err = e.Append(dst, part.Text, mode(part)); err != nil {
			return dst, err
		}
	}
	return dst, nil
}
