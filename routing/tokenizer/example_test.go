package tokenizer_test

import (
	"fmt"
	"os"

	"penstock/routing/tokenizer"
)

// A folder as Hugging Face has it is loaded once; every user of it has an Encoder.
func Example() {
	m, err := tokenizer.Load(os.DirFS("testdata/tiny/cl100k"), tokenizer.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	e := m.NewEncoder()
	ids, err := e.Append(nil, []byte("hello there"), tokenizer.AddSpecial)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range ids {
		text, special, _ := m.TokenText(id)
		fmt.Printf("%d %q %v\n", id, text, special)
	}
	// Output:
	// 294 "<|bos|>" true
	// 268 "hello" false
	// 271 " there" false
}

// A prompt that begins as another did need not be encoded again as far as a boundary.
func ExampleEncoder_Boundaries() {
	m, err := tokenizer.Load(os.DirFS("testdata/tiny/cl100k"), tokenizer.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	e := m.NewEncoder()
	prompt := []byte("<|user|>hello<|eos|>hello there")
	for _, at := range e.Boundaries(nil, prompt) {
		before, _ := e.Append(nil, prompt[:at], tokenizer.Unfinished)
		behind, _ := e.Append(nil, prompt[at:], tokenizer.Continuation)
		fmt.Println(before, behind)
	}
	// Output:
	// [296] [268 295 268 271]
	// [296 268 295] [268 271]
}
