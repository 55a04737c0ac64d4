package enginesim_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"penstock/bench/enginesim"
	"penstock/bench/enginesim/core"
)

func ExampleNew() {
	cfg := enginesim.Default(enginesim.VLLM)
	cfg.Engine.Timing, _ = core.Preset("instant")
	sim, err := enginesim.New(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = sim.Close() }()
	server := httptest.NewServer(sim.Handler())
	defer server.Close()

	resp, err := http.Post(server.URL+"/v1/completions", "application/json",
		strings.NewReader(`{"model":"sim","prompt":"Where does the water go?","max_tokens":4,"stream":true}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(bytes.Count(body, []byte("data: ")), "events")
	fmt.Println(sim.Stats().Completed, "completed")
	// Output:
	// 5 events
	// 1 completed
}
