package pools_test

import (
	"errors"
	"fmt"

	"penstock/configs"
	"penstock/pools"
)

func ExampleNew() {
	set, err := pools.New("llama", configs.Pool{
		Replicas: []configs.Replica{{ID: "gpu-1", URL: "http://10.0.0.1:8000", MaxConcurrency: 1}},
	}, pools.Deps{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer set.Close()
	m := set.View().Members[0]
	lease, _ := set.AcquireMember(m, pools.Cost{PromptTokens: 1000, OutputTokens: 200})
	_, err = set.AcquireMember(m, pools.Cost{})
	fmt.Println(errors.Is(err, pools.ErrFull), m.Load().Tokens)
	lease.PromptDone() // the first event came
	lease.Progress(50) // tokens that went out
	fmt.Println(m.Load().Tokens)
	lease.End(pools.OutcomeOK)
	fmt.Println(m.Load().Tokens, set.Leases())
	// Output:
	// true 1200
	// 150
	// 0 0
}

func ExampleNewFleet() {
	fleet, err := pools.NewFleet([]configs.Pool{
		{Name: "chat", Models: []configs.Model{{ID: "llama-70b", Aliases: []string{"gpt-4o"}}}},
		{Name: "rest", Default: true},
	}, pools.Deps{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer fleet.Close()
	for _, model := range []string{"gpt-4o", "llama-70b", "something else"} {
		set, id, aliased, _ := fleet.Lookup(model)
		fmt.Println(set.Name(), id, aliased)
	}
	// Output:
	// chat llama-70b true
	// chat llama-70b false
	// rest something else false
}
