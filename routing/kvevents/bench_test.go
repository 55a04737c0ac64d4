package kvevents

import "testing"

// nowhere is an Index that counts.
type nowhere struct{ stored, removed int }

func (n *nowhere) Stored(k []uint64, _ Tier) { n.stored += len(k) }

func (n *nowhere) Removed(k []uint64, _ Tier) { n.removed += len(k) }

func (n *nowhere) Cleared() {}

func (n *nowhere) Restarted() {}

const benchBlocks, benchSize = 64, 16

// churn is batches that store a prompt of 1,024 tokens and remove it, over and over.
func churn() [][]byte {
	var payloads [][]byte
	for prompt := range 8 {
		var hashes, tokens []any
		for i := range benchBlocks {
			hashes = append(hashes, uint64(prompt*1000+i+1)*0x9e3779b97f4a7c15)
			for k := range benchSize {
				tokens = append(tokens, (prompt*7919+i*131+k*37)%150_000)
			}
		}
		payloads = append(payloads,
			packBatch(1, 0, pairs{
				"type", "BlockStored", "block_hashes", hashes, "parent_block_hash", nil, "token_ids", tokens,
				"block_size", benchSize, "lora_id", nil, "medium", "GPU", "lora_name", nil, "group_idx", 0,
			}),
			packBatch(1, 0, pairs{"type", "BlockRemoved", "block_hashes", hashes, "medium", "GPU", "group_idx", 0}))
	}
	return payloads
}

func benchPublisher(t testing.TB) (*Publisher, *nowhere) {
	index := new(nowhere)
	p, err := New(Options{
		BlockSize: benchSize, Rank: -1, Namespace: func(_, _ []byte) (uint64, bool) { return 1, true },
	}, index)
	if err != nil {
		t.Fatal(err)
	}
	return p, index
}

func TestWarmBatchesAllocateNothing(t *testing.T) {
	p, index := benchPublisher(t)
	payloads := churn()
	seq := uint64(0)
	round := func() {
		for _, payload := range payloads {
			p.Live(seq, payload)
			seq++
		}
	}
	round()
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
	if index.stored != index.removed || index.stored == 0 || p.Picture() != Complete {
		t.Errorf("stored %d, removed %d, %v", index.stored, index.removed, p.Picture())
	}
}

func BenchmarkLive(b *testing.B) {
	p, index := benchPublisher(b)
	payloads := churn()
	b.ReportAllocs()
	for seq := uint64(0); b.Loop(); seq++ {
		p.Live(seq, payloads[seq%uint64(len(payloads))])
	}
	b.ReportMetric(float64(index.stored+index.removed)/b.Elapsed().Seconds(), "blocks/s")
}

func BenchmarkDecode(b *testing.B) {
	payload := churn()[0]
	var batch Batch
	b.ReportAllocs()
	b.SetBytes(int64(len(payload)))
	for b.Loop() {
		if err := batch.Decode(payload); err != nil {
			b.Fatal(err)
		}
	}
}

// The table against a map, at its limit and under removal.
func TestAliasesAreFound(t *testing.T) {
	t.Parallel()
	table := newAliases(aliasBytes * 1024)
	want := map[uint64]uint64{}
	x := uint64(1)
	for range 200_000 {
		x = x*6364136223846793005 + 1442695040888963407
		hash := (x >> 33) % 2000 << 40
		a := table.find(hash)
		key, known := want[hash]
		if (a != nil) != known || a != nil && a.key != key {
			t.Fatalf("hash %x: %+v, want %d", hash, a, key)
		}
		switch {
		case known && x>>40&1 == 0:
			table.remove(a)
			delete(want, hash)
		case !known:
			if table.full() {
				victim := table.victim()
				delete(want, victim.hash)
				table.remove(victim)
			}
			table.insert(hash, x, aliasKeyed)
			want[hash] = x
		}
		if table.used != len(want) || len(table.slots) > 1024 {
			t.Fatalf("%d of %d slots used, want %d", table.used, len(table.slots), len(want))
		}
	}
}
