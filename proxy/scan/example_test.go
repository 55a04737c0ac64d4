package scan_test

import (
	"fmt"

	"penstock/proxy/scan"
)

func ExampleScan() {
	body := []byte(`{"model":"llama","stream":true,"prompt":["a","b"],"max_tokens":16}`)
	var r scan.Result
	if err := scan.Scan(body, scan.KindCompletions, scan.Limits{}, &r); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %v %d %d %s\n", r.Model, r.Stream, r.PromptCount, r.MaxTokens, r.Value(scan.FieldPrompt).Of(body))
	// Output: llama true 2 16 ["a","b"]
}

func ExampleEditor() {
	body := []byte(`{"rid":"mine", "model":"alias", "seed":18446744073709551615}`)
	var r scan.Result
	if err := scan.Scan(body, scan.KindChat, scan.Limits{}, &r); err != nil {
		fmt.Println(err)
		return
	}
	var e scan.Editor
	e.Reset(body, &r)
	e.CutInjected()
	e.SetModel("llama-3.1-8b")
	e.SetString(scan.FieldCacheSalt, "tenant-7")
	fmt.Printf("%s\n", e.Append(nil))
	// Output: {"cache_salt":"tenant-7","model":"llama-3.1-8b", "seed":18446744073709551615}
}
