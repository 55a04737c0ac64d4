package prefixindex_test

import (
	"fmt"

	"penstock/routing/prefixindex"
)

func ExampleIndex() {
	index, err := prefixindex.New(prefixindex.Options{MaxBytes: 64 << 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = index.Join("a", 1, prefixindex.ModePrecise)   // it tells what it holds
	_ = index.Join("b", 1, prefixindex.ModePredicted) // it does not

	prompt := []uint64{101, 102, 103, 104} // of routing/keys
	index.Apply("a", 1, []prefixindex.Op{
		{Action: prefixindex.ActionStored, Tier: prefixindex.TierDevice, Keys: prompt[:2]},
		{Action: prefixindex.ActionStored, Tier: prefixindex.TierHost, Keys: prompt[:3]},
	})
	index.Predict("b", 1, prompt, 0)

	for _, m := range index.Match(prompt, nil) {
		fmt.Println(m.ID, m.In(prefixindex.TierDevice), m.In(prefixindex.TierHost), m.Predicted)
	}
	_ = index.Join("a", 2, prefixindex.ModePrecise) // a restart
	fmt.Println(len(index.Match(prompt, nil)))
	// Output:
	// a 2 3 3
	// b 0 0 4
	// 1
}
