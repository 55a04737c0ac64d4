package configs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Object is a block of free keys, such as arguments of a template, kept as the
// text of a JSON object with the keys in their order. "" is the empty object. In a
// file it is a block, or text that holds JSON.
type Object string

// maxObjectDepth bounds the nesting of an Object.
const maxObjectDepth = 16

// String returns the JSON text.
func (o Object) String() string {
	if o == "" {
		return "{}"
	}
	return string(o)
}

// MarshalYAML writes the object as a block; JSON is YAML.
func (o Object) MarshalYAML() (any, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(o.String()), &doc); err != nil {
		return nil, fmt.Errorf("cannot write %q: %w", string(o), err)
	}
	return doc.Content[0], nil
}

// MarshalJSON writes the object itself.
func (o Object) MarshalJSON() ([]byte, error) { return []byte(o.String()), nil }

// object decodes a block of free keys.
func (d *decoder) object(n *yaml.Node, path string) (Object, bool) {
	if empty(n) {
		return "", true
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		inner, problem := parseDocument([]byte(n.Value))
		if problem != nil || inner == nil || !json.Valid([]byte(n.Value)) {
			d.failf(n, path, "must be a block of keys, or a JSON object as text, not %s", describe(n))
			return "", false
		}
		inner.Line, inner.Column = n.Line, n.Column
		n = inner
	}
	if n.Kind != yaml.MappingNode {
		d.failf(n, path, "must be a block of keys, not %s", describe(n))
		return "", false
	}
	if len(n.Content) == 0 {
		return "", true
	}
	before := len(d.problems)
	text := d.appendJSON(nil, n, path, 0)
	return Object(text), len(d.problems) == before
}

// appendJSON appends a YAML tree as JSON, reporting what JSON cannot hold.
func (d *decoder) appendJSON(b []byte, n *yaml.Node, path string, depth int) []byte {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	d.nodes++
	switch {
	case d.nodes >= maxNodes:
		if d.nodes == maxNodes {
			d.failf(n, path, "more than %d values", maxNodes)
		}
		return append(b, "null"...)
	case depth > maxObjectDepth:
		d.failf(n, path, "is nested deeper than %d levels", maxObjectDepth)
		return append(b, "null"...)
	case n.Kind == yaml.MappingNode:
		return d.appendMembers(b, n, path, depth)
	case n.Kind == yaml.SequenceNode:
		b = append(b, '[')
		for i, item := range n.Content {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = d.appendJSON(b, item, path+"["+strconv.Itoa(i)+"]", depth+1)
		}
		return append(b, ']')
	}
	return d.appendScalar(b, n, path)
}

func (d *decoder) appendMembers(b []byte, n *yaml.Node, path string, depth int) []byte {
	b = append(b, '{')
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		at := join(path, key.Value)
		switch {
		case key.Kind != yaml.ScalarNode:
			d.failf(key, path, "key must be plain text")
			continue
		case seen[key.Value]:
			d.failf(key, at, "key stands twice")
			continue
		}
		seen[key.Value] = true
		if len(seen) > 1 {
			b = append(b, ", "...)
		}
		b = append(appendQuoted(b, key.Value), ": "...)
		b = d.appendJSON(b, n.Content[i+1], at, depth+1)
	}
	return append(b, '}')
}

func (d *decoder) appendScalar(b []byte, n *yaml.Node, path string) []byte {
	switch n.ShortTag() {
	case "!!null":
		return append(b, "null"...)
	case "!!bool":
		var on bool
		if err := n.Decode(&on); err != nil {
			d.failf(n, path, "%s", err)
		}
		return strconv.AppendBool(b, on)
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) { // as written: 1.0 stays 1.0
			return append(b, n.Value...)
		}
		var v any
		if err := n.Decode(&v); err == nil {
			if text, err := json.Marshal(v); err == nil {
				return append(b, text...)
			}
		}
		d.failf(n, path, "%s is no number that JSON has", clip(n.Value))
		return append(b, "null"...)
	}
	return appendQuoted(b, n.Value)
}

// appendQuoted appends a JSON string without the escapes that are for HTML.
func appendQuoted(b []byte, text string) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		panic(fmt.Sprintf("BUG: cannot write text as JSON: %v", err))
	}
	return append(b, bytes.TrimRight(out.Bytes(), "\n")...)
}
