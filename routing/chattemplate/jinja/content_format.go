package jinja

import (
	"strings"

	"penstock/routing/chattemplate/value"
)

// How vLLM finds out whether a template wants message content as parts: it looks
// for a loop over the content of a message (vllm/renderers/hf.py,
// _detect_content_format). It knows no scopes, and neither does this.

// detectFormats looks at a template's syntax tree, and for SGLang at its source.
func detectFormats(source string, body []*node) (vllm, sglang Format) {
	root := &node{op: opWith, body: body}
	d := detector{}
	root.walk(func(n *node) { d.nodes = append(d.nodes, n) })
	if d.loopsOverContent() {
		vllm = FormatParts
	}
	if d.loopsForSGLang(source) {
		sglang = FormatParts
	}
	return vllm, sglang
}

// loopsForSGLang is what SGLang looks for (srt/parser/jinja_template_utils.py,
// detect_jinja_template_content_format): a word of media anywhere in the source, or a
// loop over the content of a variable with one of three names.
func (d *detector) loopsForSGLang(source string) bool {
	for _, word := range []string{"image", "audio", "video", "vision"} {
		if strings.Contains(source, word) {
			return true
		}
	}
	found := false
	d.each(opFor, func(n *node) {
		found = found || readsContent(n.right, []string{"message", "msg", "m"})
	})
	return found
}

// detector has all nodes of a template. The engine gives up, and takes content as
// text, where something of interest is assigned to anything but a name.
type detector struct {
	nodes  []*node
	gaveUp bool
}

// named reports whether a target is a name.
func (d *detector) named(target *node) bool {
	if target.op != opName {
		d.gaveUp = true
	}
	return !d.gaveUp
}

func (d *detector) each(kind op, f func(*node)) {
	for _, n := range d.nodes {
		if n.op == kind {
			f(n)
		}
	}
}

func isVariable(n *node, name string) bool {
	return n != nil && n.op == opName && n.ctx == load && n.name == name
}

// reads reports whether n is the variable, or with key that item or attribute of it,
// through any filters, tests and slices.
func reads(n *node, variable, key string) bool {
	for n != nil && (n.op == opFilter || n.op == opTest || n.op == opGetitem && n.right.op == opSlice) {
		n = n.left
	}
	switch {
	case n == nil:
		return false
	case key == "":
		return isVariable(n, variable)
	case n.op == opGetattr:
		return n.name == key && isVariable(n.left, variable)
	case n.op == opGetitem:
		v := n.right
		return v.op == opConst && v.val.Kind() == value.String && string(v.val.Bytes()) == key && isVariable(n.left, variable)
	}
	return false
}

// aliases are the names assigned from a variable, and from those again.
func (d *detector) aliases(variable string) []string {
	names := []string{variable}
	seen := map[string]bool{variable: true}
	for i := 0; i < len(names); i++ {
		d.each(opAssign, func(n *node) {
			if reads(n.right, names[i], "") && d.named(n.left) && !seen[n.left.name] {
				seen[n.left.name] = true
				names = append(names, n.left.name)
			}
		})
	}
	return names
}

// messageNames are the variables of loops over the messages.
func (d *detector) messageNames() []string {
	var names []string
	messages := d.aliases("messages")
	d.each(opFor, func(n *node) {
		for _, name := range messages {
			if reads(n.right, name, "") && d.named(n.left) {
				names = append(names, n.left.name)
				return
			}
		}
	})
	return names
}

func readsContent(n *node, names []string) bool {
	for _, name := range names {
		if reads(n, name, "content") {
			return true
		}
	}
	return false
}

func (d *detector) loopsOverContent() bool {
	names := d.messageNames()
	params, inMacro := d.macroLoops(names)
	found := false
	d.each(opFor, func(n *node) {
		bound := n.right.op == opName && (params[n][n.right.name] || !inMacro[n] && n.right.name == "content")
		if bound || readsContent(n.right, names) {
			found = found || d.named(n.left)
		}
	})
	return found
}

// macroLoops finds the loops inside macros, and for each the parameters that some call
// passes a message's content.
func (d *detector) macroLoops(names []string) (params map[*node]map[string]bool, inMacro map[*node]bool) {
	params, inMacro = map[*node]map[string]bool{}, map[*node]bool{}
	calls := map[string][]*node{}
	d.each(opCall, func(n *node) {
		if n.left.op == opName {
			calls[n.left.name] = append(calls[n.left.name], n)
		}
	})
	d.each(opMacro, func(macro *node) {
		bound := map[string]bool{}
		for _, call := range calls[macro.name] {
			for i, arg := range call.args {
				if i < len(macro.params) && readsContent(arg, names) {
					bound[macro.params[i].name] = true
				}
			}
			for _, k := range call.kwargs {
				for _, p := range macro.params {
					if p.name == k.name && readsContent(k.val, names) {
						bound[k.name] = true
					}
				}
			}
		}
		macro.walk(func(n *node) {
			if n.op == opFor {
				inMacro[n] = true
				if len(bound) > 0 {
					params[n] = bound
				}
			}
		})
	})
	return params, inMacro
}
