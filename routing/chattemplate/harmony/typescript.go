package harmony

import (
	"bytes"
	"errors"
	"strings"

	"penstock/routing/chattemplate/value"
)

// Limits of schemas: of nesting, which JSON has one for already, and of the text of a
// developer's message, in bytes.
const (
	maxDepth  = 512
	maxOutput = 64 << 20
)

// Errors of AppendDeveloper; test with errors.Is.
var (
	ErrNumber = errors.New("harmony: a number that JSON does not have")
	ErrLimit  = errors.New("harmony: tools too large to write")
)

// typescript writes JSON schemas as types, as json_schema_to_typescript of the library
// does, with all its oddities.
type typescript struct {
	dst   []byte
	limit int // of dst in bytes
	err   error
}

func (t *typescript) add(text string) { t.dst = append(t.dst, text...) }

// indent starts a line. Lines are indented by how deep they lie, so a schema can grow:
// beyond a limit nothing more is written.
func (t *typescript) indent(n int) {
	if len(t.dst) > t.limit {
		t.err = ErrLimit
		return
	}
	t.add(strings.Repeat(" ", n))
}

// comment adds a line of its own.
func (t *typescript) comment(indent int, text []byte) {
	t.indent(indent)
	t.add("// ")
	t.dst = append(t.dst, text...)
	t.add("\n")
}

// schema writes the type of one schema.
func (t *typescript) schema(s value.Value, indent, depth int) {
	if depth > maxDepth {
		t.add("any")
		return
	}
	if variants := s.Get("oneOf"); variants.Kind() == value.List {
		t.variants(variants, indent, depth)
		return
	}
	kind := s.Get("type")
	if kind.Kind() == value.List && t.union(kind) {
		return
	}
	if kind.Kind() != value.String {
		t.add("any")
		return
	}
	switch string(kind.Bytes()) {
	case "object":
		t.object(s, indent, depth)
	case "string":
		t.text(s.Get("enum"))
	case "number", "integer":
		t.add("number")
	case "boolean":
		t.add("boolean")
	case "array":
		if items := s.Get("items"); items.Kind() != value.Undefined {
			t.schema(items, indent, depth+1)
			t.add("[]")
		} else {
			t.add("Array<any>")
		}
	default:
		t.add("any")
	}
}

// union writes a list of types; it reports whether there was one.
func (t *typescript) union(kinds value.Value) bool {
	found := false
	for _, kind := range kinds.Items() {
		if kind.Kind() != value.String {
			continue
		}
		if found {
			t.add(" | ")
		}
		found = true
		if name := kind.Bytes(); string(name) == "integer" {
			t.add("number")
		} else {
			t.dst = append(t.dst, name...)
		}
	}
	return found
}

func (t *typescript) text(enum value.Value) {
	found := false
	for _, v := range enum.Items() {
		if v.Kind() != value.String {
			continue
		}
		if found {
			t.add(" | ")
		}
		found = true
		t.add(`"`)
		t.dst = append(t.dst, v.Bytes()...)
		t.add(`"`)
	}
	if !found {
		t.add("string")
	}
}

// variants writes a oneOf that is no property, one variant a line.
func (t *typescript) variants(list value.Value, indent, depth int) {
	for _, v := range list.Items() {
		t.add("\n")
		t.indent(indent)
		t.add(" | ")
		t.nullable(v, indent+3, depth)
		t.trailing(v, true, value.Value{})
	}
}

// nullable writes a type, and null when the schema allows it and the type does not
// say so.
func (t *typescript) nullable(s value.Value, indent, depth int) {
	start := len(t.dst)
	t.schema(s, indent, depth+1)
	if n := s.Get("nullable"); n.Kind() == value.Bool && n.Truth() && !bytes.Contains(t.dst[start:], []byte("null")) {
		t.add(" | null")
	}
}

// trailing adds description and default of a variant behind its type. The description
// is left out where it is the one given.
func (t *typescript) trailing(s value.Value, described bool, known value.Value) {
	text := s.Get("description")
	described = described && text.Kind() == value.String && !same(text, known)
	if described {
		t.add(" // ")
		t.dst = append(t.dst, text.Bytes()...)
	}
	if s.Get("default").Kind() == value.Undefined {
		return
	}
	if described {
		t.add(" ")
	} else {
		t.add(" // ")
	}
	t.standard(s, known.Kind() == value.Undefined)
}

// same reports whether two strings are equal.
func same(v, w value.Value) bool {
	return v.Kind() == value.String && w.Kind() == value.String && bytes.Equal(v.Bytes(), w.Bytes())
}

// standard adds a default. Text has quotes, but with an enum it has none, or those of
// JSON outside of properties.
func (t *typescript) standard(s value.Value, outside bool) {
	t.add("default: ")
	v, enum := s.Get("default"), s.Get("enum")
	switch {
	case v.Kind() != value.String:
		t.json(v)
	case enum.Kind() != value.List || enum.Len() == 0:
		t.add(`"`)
		t.dst = append(t.dst, v.Bytes()...)
		t.add(`"`)
	case outside:
		t.json(v)
	default:
		t.dst = append(t.dst, v.Bytes()...)
	}
}

func (t *typescript) object(s value.Value, indent, depth int) {
	if text := s.Get("description"); text.Kind() == value.String {
		t.comment(indent, text.Bytes())
	}
	t.add("{\n")
	properties := s.Get("properties")
	for i := range properties.Len() {
		if properties.Kind() != value.Dict || t.err != nil {
			break
		}
		name, property := properties.Entry(i)
		t.property(name, property, requires(s.Get("required"), name), indent, depth)
	}
	t.indent(indent)
	t.add("}")
}

func requires(list value.Value, name []byte) bool {
	for _, v := range list.Items() {
		if v.Kind() == value.String && bytes.Equal(v.Bytes(), name) {
			return true
		}
	}
	return false
}

func (t *typescript) property(name []byte, p value.Value, required bool, indent, depth int) {
	t.remarks(p, indent)
	variants := p.Get("oneOf")
	if variants.Kind() == value.List {
		t.variantProperty(name, p, variants, required, indent, depth)
		return
	}
	t.name(name, required, indent)
	t.add(" ")
	t.nullable(p, indent+4, depth)
	t.add(",")
	if variants.Kind() == value.Undefined && p.Get("default").Kind() != value.Undefined {
		t.add(" // ")
		t.standard(p, false)
	}
	t.add("\n")
}

func (t *typescript) name(name []byte, required bool, indent int) {
	t.indent(indent)
	t.dst = append(t.dst, name...)
	if !required {
		t.add("?")
	}
	t.add(":")
}

// remarks writes what stands above a property.
func (t *typescript) remarks(p value.Value, indent int) {
	if title := p.Get("title"); title.Kind() == value.String {
		t.comment(indent, title.Bytes())
		t.indent(indent)
		t.add("//\n")
	}
	if text := p.Get("description"); text.Kind() == value.String && p.Get("oneOf").Kind() == value.Undefined {
		t.comment(indent, text.Bytes())
	}
	examples := p.Get("examples")
	if examples.Kind() != value.List || examples.Len() == 0 {
		return
	}
	t.comment(indent, []byte("Examples:"))
	for _, v := range examples.Items() {
		if v.Kind() == value.String {
			t.indent(indent)
			t.add(`// - "`)
			t.dst = append(t.dst, v.Bytes()...)
			t.add("\"\n")
		}
	}
}

// variantProperty writes a property with a oneOf. Its description stands above, unless
// it is also that of the first variant.
func (t *typescript) variantProperty(name []byte, p, variants value.Value, required bool, indent, depth int) {
	text := p.Get("description")
	if text.Kind() != value.String {
		text = value.NewNone()
	}
	above := text.Kind() == value.String
	if above && variants.Len() > 0 {
		above = !same(text, variants.Index(0).Get("description"))
	}
	if above {
		t.comment(indent, text.Bytes())
	}
	if p.Get("default").Kind() != value.Undefined {
		t.indent(indent)
		t.add("// ")
		t.standard(p, false)
		t.add("\n")
	}
	t.name(name, required, indent)
	t.add("\n")
	for i, v := range variants.Items() {
		t.indent(indent)
		t.add(" | ")
		t.nullable(v, indent+3, depth)
		t.trailing(v, i > 0 || !above, text)
		t.add("\n")
	}
	t.indent(indent)
	t.add(",\n")
}
