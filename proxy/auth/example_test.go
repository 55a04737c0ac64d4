package auth_test

import (
	"fmt"
	"time"

	"penstock/configs"
	"penstock/proxy/auth"
)

func ExampleNew() {
	keys := configs.Auth{Keys: []configs.APIKey{{
		ID:     "team-a",
		Key:    configs.NewSecret("sk-team-a"),
		Tenant: "a",
		Models: []string{"llama-3.1-8b"},
	}}}
	store, err := auth.New(keys, time.Now)
	if err != nil {
		fmt.Println(err)
		return
	}
	key, _ := auth.FromHeader([]byte("Bearer sk-team-a"), nil)
	who, err := store.Lookup(key)
	fmt.Println(who.ID, who.Tenant, who.AllowsModel("llama-3.1-8b"), who.AllowsModel("other"), err)
	// Output: team-a a true false <nil>
}
