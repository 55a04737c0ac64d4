package configs

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxNodes bounds the work that aliases of aliases can cause.
const maxNodes = 100_000

// mark is a place in the file.
type mark struct{ line, column int }

// decoder writes a YAML tree into a Config, collecting every problem instead of
// stopping at the first. Recursion is bounded by the depth of the Go types.
type decoder struct {
	opts     Options
	problems []Problem
	warnings []Problem
	marks    map[string]mark // path -> place of its value
	nodes    int
}

func (d *decoder) failf(n *yaml.Node, path, format string, args ...any) {
	d.problems = append(d.problems, Problem{n.Line, n.Column, path, fmt.Sprintf(format, args...)})
}

// value decodes n into v, which already holds the default.
func (d *decoder) value(n *yaml.Node, v reflect.Value, path string) {
	d.nodes++
	if d.nodes == maxNodes {
		d.failf(n, path, "more than %d values", maxNodes)
	}
	if d.nodes >= maxNodes {
		return
	}
	d.marks[path] = mark{n.Line, n.Column}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch v.Interface().(type) {
	case Duration, Size, Secret:
		d.text(n, v, path)
		return
	case Object:
		if o, ok := d.object(n, path); ok {
			v.SetString(string(o))
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.mapping(n, v, path)
	case reflect.Pointer:
		d.pointer(n, v, path)
	case reflect.Slice:
		d.sequence(n, v, path)
	case reflect.Map:
		d.labels(n, v, path)
	default:
		d.scalar(n, v, path)
	}
}

// empty reports whether a block has no content, which leaves its default.
func empty(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

func (d *decoder) pointer(n *yaml.Node, v reflect.Value, path string) {
	if empty(n) {
		return
	}
	fresh := reflect.New(v.Type().Elem())
	seed(fresh)
	d.value(n, fresh.Elem(), path)
	v.Set(fresh)
}

// seed fills *p with the defaults of its type, for values that the file lists.
func seed(p reflect.Value) {
	switch t := p.Interface().(type) {
	case *Pool:
		*t = DefaultPool()
	case *Replica:
		*t = DefaultReplica()
	case *ServerTLS:
		*t = DefaultServerTLS()
	}
}

func (d *decoder) mapping(n *yaml.Node, v reflect.Value, path string) {
	if empty(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.failf(n, path, "must be a block of keys, not %s", describe(n))
		return
	}
	fields := fieldsOf(v.Type())
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		name, at := key.Value, join(path, key.Value)
		if key.Kind != yaml.ScalarNode {
			d.failf(key, path, "key must be plain text")
			continue
		}
		if first, dup := seen[name]; dup {
			d.failf(key, at, "key stands twice; the first is on line %d", first)
			continue
		}
		seen[name] = key.Line
		index, known := fields[name]
		if !known {
			d.failf(key, at, "unknown key%s", suggestKey(v.Type(), name))
			continue
		}
		d.value(val, v.Field(index), at)
	}
}

func (d *decoder) sequence(n *yaml.Node, v reflect.Value, path string) {
	if empty(n) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		d.failf(n, path, "must be a list, not %s", describe(n))
		return
	}
	// The list replaces the default; an empty one is nil so that equal
	// configurations are deeply equal.
	list := reflect.Zero(v.Type())
	for i, item := range n.Content {
		fresh := reflect.New(v.Type().Elem())
		seed(fresh)
		d.value(item, fresh.Elem(), path+"["+strconv.Itoa(i)+"]")
		list = reflect.Append(list, fresh.Elem())
		if d.nodes >= maxNodes {
			break
		}
	}
	v.Set(list)
}

func (d *decoder) labels(n *yaml.Node, v reflect.Value, path string) {
	if empty(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.failf(n, path, "must be a block of keys, not %s", describe(n))
		return
	}
	labels := map[string]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, item := n.Content[i], reflect.New(v.Type().Elem()).Elem()
		if key.Kind != yaml.ScalarNode {
			d.failf(key, path, "key must be plain text")
			continue
		}
		at := join(path, key.Value)
		if _, dup := labels[key.Value]; dup {
			d.failf(key, at, "key stands twice")
			continue
		}
		d.value(n.Content[i+1], item, at)
		labels[key.Value] = item.String()
	}
	if len(labels) > 0 {
		v.Set(reflect.ValueOf(labels))
	}
}

// text decodes the types that have a written form of their own.
func (d *decoder) text(n *yaml.Node, v reflect.Value, path string) {
	tag := n.ShortTag()
	_, isSecret := reflect.TypeAssert[Secret](v)
	if n.Kind != yaml.ScalarNode || (tag != "!!str" && (isSecret || tag != "!!int" && tag != "!!float")) {
		d.failf(n, path, "must be %s, not %s", kindName(v.Type()), describe(n))
		return
	}
	var got any
	var err error
	switch v.Interface().(type) {
	case Duration:
		got, err = ParseDuration(n.Value)
	case Size:
		got, err = ParseSize(n.Value)
	default:
		got, err = ParseSecret(n.Value, d.opts)
		if err == nil && n.Value != "" && !isReference(n.Value) && n.Value != masked {
			d.warnings = append(d.warnings, Problem{
				n.Line, n.Column, path,
				"the secret stands in the file; env:NAME or file:PATH keeps it out",
			})
		}
	}
	if err != nil {
		d.failf(n, path, "%s", err)
		return
	}
	v.Set(reflect.ValueOf(got))
}

func (d *decoder) scalar(n *yaml.Node, v reflect.Value, path string) {
	tag := n.ShortTag()
	wrong := func() { d.failf(n, path, "must be %s, not %s%s", kindName(v.Type()), describe(n), hint(n, v)) }
	if n.Kind != yaml.ScalarNode {
		wrong()
		return
	}
	switch v.Kind() {
	case reflect.String:
		// A time stamp is text here: YAML tags an unquoted date by itself.
		if tag != "!!str" && tag != "!!timestamp" {
			wrong()
			return
		}
		v.SetString(n.Value)
	case reflect.Bool:
		if tag != "!!bool" || n.Decode(v.Addr().Interface()) != nil {
			wrong()
		}
	case reflect.Int:
		if tag != "!!int" || n.Decode(v.Addr().Interface()) != nil {
			wrong()
		}
	case reflect.Float64:
		var f float64
		if (tag != "!!int" && tag != "!!float") || n.Decode(&f) != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			wrong()
			return
		}
		v.SetFloat(f)
	default:
		panic("BUG: no decoding for " + v.Type().String())
	}
}

// hint tells how to write what was probably meant.
func hint(n *yaml.Node, v reflect.Value) string {
	if n.Kind != yaml.ScalarNode {
		return ""
	}
	switch {
	case v.Kind() == reflect.String && !empty(n):
		return fmt.Sprintf("; put it in quotes: %q", n.Value)
	case v.Kind() == reflect.Bool && strings.Contains("|yes|on|y|", "|"+strings.ToLower(n.Value)+"|"):
		return "; write true"
	case v.Kind() == reflect.Bool && strings.Contains("|no|off|n|", "|"+strings.ToLower(n.Value)+"|"):
		return "; write false"
	}
	return ""
}

// kindName says what a type wants, for error messages.
func kindName(t reflect.Type) string {
	switch t.Name() {
	case "Duration":
		return `a duration such as "30s"`
	case "Size":
		return `a size such as "64MiB"`
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	default:
		return "text"
	}
}

// describe says what a node is, for error messages.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a block of keys"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!null":
		return "empty"
	case "!!bool":
		return "true or false"
	case "!!int", "!!float":
		return "the number " + clip(n.Value)
	default:
		return strconv.Quote(clip(n.Value))
	}
}

// clip keeps messages short when a value is not.
func clip(text string) string {
	const limit = 60
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "..."
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// fieldsOf maps the keys of a struct to its field numbers.
func fieldsOf(t reflect.Type) map[string]int {
	fields := make(map[string]int, t.NumField())
	for i := range t.NumField() {
		fields[t.Field(i).Tag.Get("yaml")] = i
	}
	return fields
}
