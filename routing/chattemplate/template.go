package chattemplate

import (
	"bytes"
	"regexp"
	"slices"

	"penstock/routing/chattemplate/jinja"
	"penstock/routing/chattemplate/value"
)

// template is a compiled chat template and what the engines find out by reading it.
type template struct {
	compiled   *jinja.Template
	err        error        // why it is not compiled
	format     jinja.Format // of contents, as detected
	sglang     jinja.Format // the same, as SGLang finds it
	developer  bool         // names the role "developer"
	clock      bool         // may print the time of day
	generation bool         // has the tag of that name
	content    bool         // has the word "content", which continue_final_message asks for
}

func compile(source []byte) *template {
	t := &template{
		clock:      tellsTime(source),
		developer:  bytes.Contains(source, []byte(`"developer"`)) || bytes.Contains(source, []byte(`'developer'`)),
		generation: bytes.Contains(source, []byte("endgeneration")),
		content:    bytes.Contains(source, []byte("content")),
	}
	if t.compiled, t.err = jinja.Compile(string(source)); t.err == nil {
		t.format, t.sglang = t.compiled.ContentFormat(), t.compiled.SGLangContentFormat()
	}
	return t
}

// tellsTime reports whether a template may print more of the time than the day.
func tellsTime(source []byte) bool {
	directive := regexp.MustCompile(`%-?[HIMSpXcTfrRskl]`)
	return bytes.Contains(source, []byte("strftime_now")) && directive.Match(source)
}

// templates are those of a model: one, or several by name.
type templates struct {
	forced *template // the pool's own
	single *template
	named  []namedTemplate
}

type namedTemplate struct {
	name string
	*template
}

// read follows transformers: the file goes before tokenizer_config.json.
func (t *templates) read(config value.Value, file, forced []byte) {
	list := config.Get("chat_template")
	switch {
	case file != nil:
		t.single = compile(file)
	case list.Kind() == value.String:
		t.single = compile(list.Bytes())
	case list.Kind() == value.List:
		for _, e := range list.Items() {
			if name, source := e.Get("name"), e.Get("template"); name.Kind() == value.String && source.Kind() == value.String {
				t.named = append(t.named, namedTemplate{string(name.Bytes()), compile(source.Bytes())})
			}
		}
	}
	if len(forced) == 0 {
		return
	}
	if t.forced = t.byName(string(forced)); t.forced == nil {
		t.forced = compile(forced)
	}
}

// byName is the template of a name; of repeated names the last.
func (t *templates) byName(name string) *template {
	for _, n := range slices.Backward(t.named) {
		if n.name == name {
			return n.template
		}
	}
	return nil
}

// choose is the template for a request with or without tools; nil when there is none.
func (t *templates) choose(tools bool) *template {
	switch {
	case t.forced != nil:
		return t.forced
	case t.single != nil:
		return t.single
	}
	if tools {
		if u := t.byName("tool_use"); u != nil {
			return u
		}
	}
	return t.byName("default")
}
