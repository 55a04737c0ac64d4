package routing_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"penstock/configs"
	"penstock/pools"
	"penstock/routing"
)

func ExampleNew() {
	set, err := pools.New("p", configs.Pool{Replicas: []configs.Replica{
		{ID: "a", URL: "http://10.0.0.1:8000"}, {ID: "b", URL: "http://10.0.0.2:8000"},
	}}, pools.Deps{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer set.Close()
	policy, err := routing.New(configs.PolicyLeastLoad, configs.PolicyOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	view := set.View()
	lease, _ := set.AcquireMember(view.Members[0], pools.Cost{PromptTokens: 5000})
	defer lease.End(pools.OutcomeOK)

	var choice routing.Decision
	policy.Choose(&routing.Input{
		Now: view.Elapsed(time.Now()), View: view, Rand: rand.New(rand.NewPCG(1, 2)),
		Query: &routing.Query{Cost: pools.Cost{PromptTokens: 100}},
	}, &choice)
	fmt.Println(view.Members[choice.Index].ID, choice.Why, choice.Tried)
	// Output: b policy 2
}

func ExampleNewRetryBudget() {
	budget := routing.NewRetryBudget(20, 1)
	attempt := routing.Attempt{
		ConnectFailed: true, BodyInMemory: true, DeadlineLeft: time.Minute,
		AttemptsMade: 1, MaxAttempts: 3, OthersLeft: 2,
	}
	decision := routing.DecideRetry(&attempt)
	fmt.Println(decision.Retry, decision.Why, budget.Take(1), budget.Take(1))
	// Output: true connect true false
}
