package core_test

import (
	"fmt"

	"penstock/bench/enginesim/core"
)

// The caller owns the clock: it asks for the next moment of interest and goes there.
func ExampleEngine_Step() {
	cfg := core.Default()
	cfg.Timing = core.Timing{Base: 0.010, Prefill: 0.0001}
	engine, err := core.New(cfg, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := engine.Add(0, core.Request{Prompt: make([]uint32, 100), OutputTokens: 3}); err != nil {
		fmt.Println(err)
		return
	}
	for engine.Next() != core.Never {
		for _, out := range engine.Step(engine.Next()) {
			fmt.Printf("token %d at %v %q\n", out.Index, out.At, out.Finish)
		}
	}
	// Output:
	// token 0 at 20ms ""
	// token 1 at 30ms ""
	// token 2 at 40ms "length"
}
