package sse_test

import (
	"fmt"

	"penstock/proxy/sse"
)

func ExampleTracker() {
	var t sse.Tracker
	t.Reset(sse.APIChat)
	for _, chunk := range []string{
		"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":null}]}\n\ndata: {\"cho",
		"ices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n",
	} {
		at := t.Feed([]byte(chunk))
		fmt.Printf("%d of %d bytes are complete, %d with output\n", at.End, len(chunk), at.Content)
	}
	s := t.State()
	fmt.Println("done:", s.Done, "prompt tokens:", s.Usage.Prompt)
	// Output:
	// 69 of 80 bytes are complete, 1 with output
	// 75 of 75 bytes are complete, 0 with output
	// done: true prompt tokens: 5
}

func ExampleErrorIn() {
	first := []byte("data: {\"error\":{\"message\":\"queue full\",\"type\":\"SERVICE_UNAVAILABLE\",\"code\":503}}\n\n")
	payload, _, _ := sse.FirstEvent(first)
	fmt.Println(sse.ErrorIn(payload))
	// Output: 503 true
}

func ExampleAppendErrorEvent() {
	fmt.Printf("%s", sse.AppendErrorEvent(nil, sse.APIChat, sse.Failure{
		Status: 502, Code: "penstock_upstream_lost", Message: "the replica went away",
	}))
	// Output: data: {"error":{"message":"the replica went away","type":"server_error","param":null,"code":"penstock_upstream_lost"}}
}
