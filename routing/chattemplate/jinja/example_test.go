package jinja_test

import (
	"fmt"

	"penstock/routing/chattemplate/jinja"
)

func ExampleCompile() {
	tpl, err := jinja.Compile("{% for m in messages %}<|{{ m.role }}|>{{ m.content | trim }}\n{% endfor %}")
	if err != nil {
		panic(err)
	}
	var env jinja.Env
	vars, err := env.Memory.Parse([]byte(`{"messages": [{"role": "user", "content": " Hello "}]}`))
	if err != nil {
		panic(err)
	}
	text, err := env.Render(nil, tpl, vars)
	fmt.Printf("%q %v\n", text, err)
	// Output: "<|user|>Hello\n" <nil>
}
