package configs

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite schema.json, example.yaml and the goldens")

// docs holds the comments of config.go: "Type" and "Type.key".
type docs map[string]string

func readDocs(t *testing.T) docs {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "config.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	out := docs{}
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			ts, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			out[ts.Name.Name] = oneLine(gen.Doc.Text())
			for _, f := range ts.Type.(*ast.StructType).Fields.List {
				key := reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("yaml")
				text := f.Doc.Text() + f.Comment.Text()
				// A comment that starts with the Go name speaks of the key.
				text = strings.Replace(text, f.Names[0].Name+" ", key+" ", 1)
				out[ts.Name.Name+"."+key] = oneLine(text)
			}
		}
	}
	return out
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// golden compares got with the file at path, or rewrites it.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the code says; run go test ./configs -update\ngot:\n%s", path, got)
	}
}

func TestSchemaFileFollowsTheTypes(t *testing.T) {
	t.Parallel()
	g := schemaGen{docs: readDocs(t), defs: map[string]any{}}
	root := g.object(reflect.TypeFor[Config](), reflect.ValueOf(Default()))
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Penstock configuration"
	root["required"], root["type"] = []string{"pools"}, "object"
	root["$defs"] = g.defs
	pools := root["properties"].(map[string]any)["pools"].(map[string]any)
	pools["type"], pools["minItems"] = "array", 1
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "schema.json", append(text, '\n'))
}

type schemaGen struct {
	docs docs
	defs map[string]any
}

func (g schemaGen) object(t reflect.Type, defaults reflect.Value) map[string]any {
	props := map[string]any{}
	var required []string
	for i := range t.NumField() {
		f := t.Field(i)
		key := f.Tag.Get("yaml")
		r := rules[t.Name()+"."+key]
		p := g.value(f.Type, defaults.Field(i), r)
		if text := g.docs[t.Name()+"."+key]; text != "" {
			p["description"] = text
		}
		props[key] = p
		// A single pool needs no name.
		if r.required && key != "name" && defaults.Field(i).IsZero() {
			required = append(required, key)
		}
	}
	out := map[string]any{"type": []string{"object", "null"}, "properties": props, "additionalProperties": false}
	if text := g.docs[t.Name()]; text != "" {
		out["description"] = text
	}
	if required != nil {
		out["required"] = required
		out["type"] = "object"
	}
	return out
}

// ref describes a struct once. Its defaults are d, or those of a listed block.
func (g schemaGen) ref(t reflect.Type, d reflect.Value) map[string]any {
	if _, done := g.defs[t.Name()]; !done {
		g.defs[t.Name()] = nil // ends recursion
		if !d.IsValid() {
			fresh := reflect.New(t)
			seed(fresh)
			d = fresh.Elem()
		}
		g.defs[t.Name()] = g.object(t, d)
	}
	return map[string]any{"$ref": "#/$defs/" + t.Name()}
}

// value describes one key. d is its default, the zero Value inside lists.
func (g schemaGen) value(t reflect.Type, d reflect.Value, r rule) map[string]any {
	out := map[string]any{}
	if names, ok := enumValues[t.Name()]; ok {
		out["enum"] = names
		setDefault(out, d)
		return out
	}
	switch t {
	case reflect.TypeFor[Secret]():
		out["type"] = "string"
		return out
	case reflect.TypeFor[Object]():
		out["type"] = []string{"object", "string", "null"}
		return out
	case reflect.TypeFor[Duration]():
		out["anyOf"] = []any{
			map[string]any{"type": "string", "pattern": `^([0-9]+(\.[0-9]*)?(ns|us|µs|μs|ms|s|m|h))+$|^\.[0-9]+(ns|us|µs|μs|ms|s|m|h)|^0$`},
			map[string]any{"const": 0},
		}
		setDefault(out, d)
		return out
	case reflect.TypeFor[Size]():
		out["anyOf"] = []any{
			map[string]any{"type": "string", "pattern": `^[0-9]+([KMGT]iB|[KMGT]B|kB|B)?$`},
			map[string]any{"type": "integer", "minimum": 0},
		}
		setDefault(out, d)
		return out
	}
	switch t.Kind() {
	case reflect.Struct:
		return g.ref(t, d)
	case reflect.Pointer:
		return map[string]any{"anyOf": []any{g.ref(t.Elem(), reflect.Value{}), map[string]any{"type": "null"}}}
	case reflect.Map:
		out["type"], out["additionalProperties"] = []string{"object", "null"}, map[string]any{"type": "string"}
	case reflect.Slice:
		out["type"], out["items"] = []string{"array", "null"}, g.value(t.Elem(), reflect.Value{}, r)
		setDefault(out, d)
	case reflect.String:
		out["type"] = "string"
		if r.form.pattern != "" {
			out["pattern"] = r.form.pattern
			if !r.required && d.IsValid() {
				out["pattern"] = "^$|" + r.form.pattern
			}
		}
		setDefault(out, d)
	case reflect.Bool:
		out["type"] = "boolean"
		setDefault(out, d)
	case reflect.Int, reflect.Float64:
		out["type"] = map[reflect.Kind]string{reflect.Int: "integer", reflect.Float64: "number"}[t.Kind()]
		out["minimum"] = r.min
		if r.max > 0 {
			out["maximum"] = r.max
		}
		setDefault(out, d)
	default:
		panic("BUG: no schema for " + t.String())
	}
	return out
}

func setDefault(out map[string]any, d reflect.Value) {
	if d.IsValid() && !(d.Kind() == reflect.Slice && d.Len() == 0) {
		out["default"] = d.Interface()
	}
}

// samples are the values of the example where the default is empty or the
// block does not exist by default. What is sampled is commented out, except
// the one pool that every file needs.
var samples = map[string]any{
	"ServerTLS.cert_file": "/etc/penstock/tls.crt",
	"ServerTLS.key_file":  "/etc/penstock/tls.key",
	"APIKey.id":           "team-a",
	"APIKey.key":          "env:TEAM_A_KEY",
	"Pool.name":           "default",
	"Model.id":            "meta-llama/Llama-3.1-8B-Instruct",
	"Replica.url":         "http://127.0.0.1:8000",
}

type exampleGen struct {
	docs docs
	b    strings.Builder
}

func TestExampleFileFollowsTheTypes(t *testing.T) {
	t.Parallel()
	g := exampleGen{docs: readDocs(t)}
	g.b.WriteString("# Every key of a Penstock configuration, with its default and unit.\n" +
		"#\n" +
		"# A key that is left out takes the value shown. Lines that start with # and no\n" +
		"# space are optional blocks with sample values. Durations are \"30s\", \"1h30m\",\n" +
		"# \"100ms\"; sizes \"64MiB\", \"1MB\" or bytes; secrets env:NAME or file:PATH.\n")
	g.block(reflect.TypeFor[Config](), reflect.ValueOf(Default()), "", "", false)
	golden(t, "example.yaml", []byte(g.b.String()))
}

// block writes the keys of one struct. first is the indent of the first key
// when it carries the dash of a list; off comments the block out.
func (g *exampleGen) block(t reflect.Type, v reflect.Value, indent, first string, off bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		key := f.Tag.Get("yaml")
		name := t.Name() + "." + key
		in := indent
		if i == 0 && first != "" {
			in = first
		}
		if indent == "" {
			g.b.WriteString("\n")
		}
		g.comment(f.Type, g.docs[name], in)
		g.field(f.Type, v.Field(i), name, key, in, indent, off)
	}
}

func (g *exampleGen) comment(t reflect.Type, text, indent string) {
	if text == "" {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		text = g.docs[t.Name()]
	}
	if text == "" {
		return
	}
	pad := strings.Repeat(" ", len(indent))
	line := pad + "#"
	for word := range strings.FieldsSeq(text) {
		if len(line)+len(word) > 96 {
			g.b.WriteString(line + "\n")
			line = pad + "#"
		}
		line += " " + word
	}
	g.b.WriteString(line + "\n")
}

func (g *exampleGen) line(indent, text string, off bool) {
	if off {
		// The mark stands before the dash of a list, behind the spaces.
		at := len(indent) - len(strings.TrimLeft(indent, " "))
		indent = indent[:at] + "#" + indent[at:]
	}
	g.b.WriteString(indent + text + "\n")
}

func (g *exampleGen) field(t reflect.Type, v reflect.Value, name, key, in, indent string, off bool) {
	switch {
	case t.Kind() == reflect.Pointer:
		g.line(in, key+":", true)
		fresh := reflect.New(t.Elem())
		seed(fresh)
		g.block(t.Elem(), fresh.Elem(), indent+"  ", "", true)
	case t.Kind() == reflect.Struct && t != reflect.TypeFor[Secret]():
		g.line(in, key+":", off)
		g.block(t, v, indent+"  ", "", off)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		off = off || t.Elem() == reflect.TypeFor[APIKey]() || t.Elem() == reflect.TypeFor[Model]()
		g.line(in, key+":", off)
		fresh := reflect.New(t.Elem())
		seed(fresh)
		g.block(t.Elem(), fresh.Elem(), indent+"    ", indent+"  - ", off)
	default:
		value := v.Interface()
		if s, ok := samples[name]; ok {
			value = s
		}
		g.line(in, key+": "+flow(value), off)
	}
}

// flow writes a value on one line; JSON is YAML.
func flow(value any) string {
	switch v := reflect.ValueOf(value); {
	case v.Kind() == reflect.Slice && v.Len() == 0:
		return "[]"
	case v.Kind() == reflect.Map && v.Len() == 0:
		return "{}"
	}
	if text, ok := value.(fmt.Stringer); ok && reflect.TypeOf(value) != reflect.TypeFor[Secret]() {
		return text.String()
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return strings.ReplaceAll(string(text), `","`, `", "`)
}

var optional = regexp.MustCompile(`(?m)^( *)#(\S)`)

func TestExampleStatesTheDefaults(t *testing.T) {
	t.Parallel()
	c, err := Parse(Example(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := FromUpstreams([]string{"http://127.0.0.1:8000"})
	want.Routes.PassthroughAll = false
	if d := Diff(want, c); d != nil {
		t.Errorf("the example differs from the defaults in %q", d)
	}
}

func TestExampleHasEveryKey(t *testing.T) {
	t.Parallel()
	full := optional.ReplaceAll(Example(), []byte("$1$2"))
	opts := Options{Getenv: func(string) string { return "sk-0123456789abcdef" }}
	d := decoder{opts: opts.filled(), marks: map[string]mark{}}
	root, problem := parseDocument(full)
	if problem != nil {
		t.Fatalf("%s\n%s", problem, full)
	}
	c := Default()
	d.value(root, reflect.ValueOf(&c).Elem(), "")
	if d.problems != nil {
		t.Fatal(d.problems)
	}
	walkTypes(reflect.TypeFor[Config](), "", func(path string, _ reflect.Type) {
		if _, ok := d.marks[strings.ReplaceAll(path, "[]", "[0]")]; !ok {
			t.Errorf("the example has no %s", path)
		}
	})
	if _, err := Parse(full, opts); err != nil {
		t.Error(err)
	}
}

func TestEveryRuleNamesAKey(t *testing.T) {
	t.Parallel()
	known := readDocs(t)
	for name := range rules {
		if _, ok := known[name]; !ok {
			t.Errorf("rules has %s, config.go does not", name)
		}
	}
}

func TestEveryKeyIsDocumented(t *testing.T) {
	t.Parallel()
	text := readDocs(t)
	for name := range text {
		if strings.Contains(name, ".") {
			continue
		}
		if text[name] == "" {
			t.Errorf("%s has no comment", name)
		}
	}
}
