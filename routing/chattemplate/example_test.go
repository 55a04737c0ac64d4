package chattemplate_test

import (
	"fmt"

	"penstock/routing/chattemplate"
)

func ExampleNew() {
	renderer, err := chattemplate.New(chattemplate.Sources{
		ChatTemplate: []byte("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>"),
	}, chattemplate.Profile{})
	if err != nil {
		fmt.Println(err)
		return
	}
	prompt := renderer.NewWorker().Render(&chattemplate.Request{
		Kind: chattemplate.KindChat,
		Body: []byte(`{"model":"m","messages":[{"role":"user","content":"Hello"}]}`),
	})
	fmt.Printf("%v %s\n", prompt.Status, prompt.Parts[0].Text)
	// Output: exact <user>Hello<assistant>
}
