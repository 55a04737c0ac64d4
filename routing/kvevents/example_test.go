package kvevents_test

import (
	"encoding/hex"
	"fmt"

	"penstock/routing/keys"
	"penstock/routing/kvevents"
)

// printer is an Index that prints.
type printer struct{}

func (printer) Stored(k []uint64, t kvevents.Tier)  { fmt.Println("stored", len(k), t) }
func (printer) Removed(k []uint64, t kvevents.Tier) { fmt.Println("removed", len(k), t) }
func (printer) Cleared()                            { fmt.Println("cleared") }
func (printer) Restarted()                          { fmt.Println("restarted") }

func ExampleNew() {
	p, err := kvevents.New(kvevents.Options{
		Rank: -1, // any
		Namespace: func(adapter, salt []byte) (uint64, bool) {
			return keys.Namespace("llama", string(adapter), string(salt)), true
		},
	}, printer{})
	if err != nil {
		fmt.Println(err)
		return
	}
	// [0.0, [["BlockStored", [7], null, [1, 2], 2, null, "GPU"]]] in MessagePack
	batch, _ := hex.DecodeString("9200" + "91" + "97" + "ab426c6f636b53746f726564" + "9107" + "c0" + "920102" + "02" + "c0" + "a3475055")
	if ask := p.Live(0, batch); ask.Wanted {
		fmt.Println("ask for a replay from", ask.From)
	}
	fmt.Println(p.Picture())
	// Output:
	// stored 1 device
	// complete
}
