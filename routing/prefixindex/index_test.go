package prefixindex

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"penstock/pools"
)

func newIndex(t testing.TB, o Options) *Index {
	t.Helper()
	x, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func join(t testing.TB, x *Index, id pools.ReplicaID, e pools.Epoch, m Mode) {
	t.Helper()
	if err := x.Join(id, e, m); err != nil {
		t.Fatal(err)
	}
}

// want checks what is said of a chain, replica by replica in the order of ordinals.
func want(t testing.TB, x *Index, keys []uint64, all ...Match) {
	t.Helper()
	got := x.Match(keys, nil)
	if fmt.Sprint(got) != fmt.Sprint(append([]Match{}, all...)) {
		t.Errorf("Match = %+v, want %+v", got, all)
	}
}

func stored(t Tier, keys ...uint64) []Op  { return []Op{{ActionStored, t, keys}} }
func removed(t Tier, keys ...uint64) []Op { return []Op{{ActionRemoved, t, keys}} }

var chain4 = []uint64{11, 12, 13, 14}

func TestRunsAreCountedByTierAndThoseNearer(t *testing.T) {
	t.Parallel()
	x := newIndex(t, Options{})
	join(t, x, "a", 1, ModePrecise)
	join(t, x, "b", 1, ModePrecise)
	x.Apply("a", 1, stored(TierDevice, 11))
	x.Apply("a", 1, stored(TierHost, 11, 12))
	x.Apply("a", 1, stored(TierRemote, 13))
	x.Apply("b", 1, stored(TierDisk, 12, 13)) // not from the start: nothing
	x.Predict("a", 1, chain4, 0)
	want(t, x, chain4, Match{"a", 1, ModePrecise, [Tiers]uint32{1, 2, 2, 3}, 4})
	want(t, x, nil)
	want(t, x, []uint64{99})
}

func TestBlockIsHeldUntilEachReferenceIsRemoved(t *testing.T) {
	t.Parallel()
	for _, replicas := range []int{1, 3, 70} { // a record, a list, a bitmap
		x := newIndex(t, Options{})
		for i := range replicas {
			join(t, x, replicaID(i), 1, ModePrecise)
			x.Apply(replicaID(i), 1, stored(TierDevice, 11, 12))
		}
		x.Apply(replicaID(0), 1, stored(TierDevice, 11))
		x.Apply(replicaID(0), 1, stored(TierHost, 11))
		held := func(want ...uint32) {
			t.Helper()
			m := x.Match(chain4[:1], nil)
			for i, n := range want {
				if m[0].ID != replicaID(0) || m[0].Blocks[i] != n {
					t.Fatalf("%d replicas: %+v, want %v", replicas, m[0], want)
				}
			}
		}
		held(1, 1)
		x.Apply(replicaID(0), 1, removed(TierDevice, 11))
		held(1, 1)
		x.Apply(replicaID(0), 1, removed(TierDevice, 11))
		held(0, 1)
		x.Apply(replicaID(0), 1, removed(TierHost, 11))
		x.Apply(replicaID(0), 1, removed(TierHost, 11)) // once too often
		if m := x.Match(chain4[:1], nil); len(m) != replicas-1 {
			t.Errorf("%d of %d replicas are left", len(m), replicas)
		}
	}
}

func TestEpochThatIsOverIsForgottenAtOnce(t *testing.T) {
	t.Parallel()
	x := newIndex(t, Options{MaxReplicas: 1})
	join(t, x, "a", 1, ModePrecise)
	x.Apply("a", 1, stored(TierDevice, chain4...))
	join(t, x, "a", 2, ModePrecise) // a restart
	want(t, x, chain4)
	x.Apply("a", 1, stored(TierDevice, chain4...)) // a late event
	want(t, x, chain4)
	x.Apply("a", 2, stored(TierDevice, 11))
	want(t, x, chain4, Match{"a", 2, ModePrecise, [Tiers]uint32{1, 1, 1, 1}, 1})
	if err := x.Join("a", 1, ModePrecise); !errors.Is(err, ErrStale) {
		t.Errorf("an epoch that is over joins: %v", err)
	}
	x.Forget("a", 2)
	want(t, x, chain4, Match{"a", 2, ModePrecise, [Tiers]uint32{1, 1, 1, 1}, 1})
	x.Forget("a", 3)
	want(t, x, chain4)
	if s := x.Stats(); s.Ignored != 4 || s.Unswept != 2 || s.Replicas != 0 || s.Entries != 5 {
		t.Errorf("before the sweep: %+v", s)
	}
	for x.Sweep(100) {
		continue
	}
	if s := x.Stats(); s.Unswept != 0 || s.Entries != 0 || s.Keys != 0 {
		t.Errorf("after the sweep: %+v", s)
	}
}

func TestOrdinalsAreUsedAgainOnlyAfterASweep(t *testing.T) {
	t.Parallel()
	x := newIndex(t, Options{MaxReplicas: 2})
	e := pools.Epoch(1)
	for ; x.Join("a", e, ModePrecise) == nil; e++ {
		x.Apply("a", e, stored(TierDevice, chain4...))
	}
	if e != 6 {
		t.Errorf("%d lives without a sweep, want 5", e-1)
	}
	x.Apply("a", 5, []Op{{Action: ActionCleared}}) // sweeps, rather than fail
	want(t, x, chain4)
	join(t, x, "a", 6, ModePrecise)
	want(t, x, chain4)
	join(t, x, "b", 1, ModePrecise)
	if err := x.Join("c", 1, ModePrecise); !errors.Is(err, ErrFull) {
		t.Errorf("a third of two replicas joins: %v", err)
	}
}

func TestPredictionIsConfirmedOrExpires(t *testing.T) {
	t.Parallel()
	x := newIndex(t, Options{PreciseTTL: time.Second, PredictedTTL: time.Minute})
	join(t, x, "a", 1, ModePrecise)
	join(t, x, "b", 1, ModePredicted)
	x.Predict("a", 1, chain4, 0)
	x.Predict("b", 1, chain4, 0)
	b := Match{"b", 1, ModePredicted, [Tiers]uint32{}, 4}
	want(t, x, chain4, Match{"a", 1, ModePrecise, [Tiers]uint32{}, 4}, b)
	x.Apply("a", 1, stored(TierDevice, 11, 12))
	x.Apply("a", 1, stored(TierHost, 13))         // not yet where the prediction says
	x.Predict("a", 1, chain4[2:3], time.Second/2) // and again: put off
	x.Expire(time.Second, 100)
	want(t, x, chain4, Match{"a", 1, ModePrecise, [Tiers]uint32{2, 3, 3, 3}, 3}, b)
	x.Apply("a", 1, removed(TierHost, 13))
	want(t, x, chain4, Match{"a", 1, ModePrecise, [Tiers]uint32{2, 2, 2, 2}, 3}, b)
	x.Expire(2*time.Second, 100)
	want(t, x, chain4, Match{"a", 1, ModePrecise, [Tiers]uint32{2, 2, 2, 2}, 2}, b)
	if x.Expire(time.Minute, 3) != true || x.Expire(time.Minute, 3) != false {
		t.Error("Expire does not keep to its limit")
	}
	if s := x.Stats(); s.Confirmed != 2 || s.Expired != 6 || s.Early != 0 || s.Entries != 2 {
		t.Errorf("%+v", s)
	}
}

func TestPredictionsBeyondTheBoundExpireEarly(t *testing.T) {
	t.Parallel()
	x := newIndex(t, Options{MaxPredictions: 100})
	join(t, x, "a", 1, ModePredicted)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		keys := randomKeys(rng, 10)
		x.Predict("a", 1, keys, 0)
		x.Predict("a", 1, keys, 0)
		want(t, x, keys, Match{"a", 1, ModePredicted, [Tiers]uint32{}, 10})
	}
	for range 200 { // batches of one key are bounded too
		x.Predict("a", 1, randomKeys(rng, 1), time.Duration(rng.IntN(1000)))
	}
	r, _ := x.Replica("a")
	if s := x.Stats(); s.Entries > 100 || s.Entries != r.Predicted || s.Early < 300 || r.Incomplete {
		t.Errorf("%+v, %+v", s, r)
	}
}

func TestModeSaysWhatIsBelieved(t *testing.T) {
	t.Parallel()
	x := newIndex(t, Options{})
	join(t, x, "a", 1, ModePrecise)
	x.Apply("a", 1, stored(TierDevice, 11, 12))
	x.SetMode("a", 1, ModePredicted)
	want(t, x, chain4)
	x.Predict("a", 1, chain4[:1], 0)
	want(t, x, chain4, Match{"a", 1, ModePredicted, [Tiers]uint32{}, 1})
	x.SetMode("a", 1, ModeOff)
	want(t, x, chain4)
	x.Predict("a", 1, chain4, 0)
	join(t, x, "a", 1, ModePrecise)
	want(t, x, chain4, Match{"a", 1, ModePrecise, [Tiers]uint32{2, 2, 2, 2}, 2})
	if x.SetMode("a", 2, ModeOff) || x.SetMode("b", 1, ModeOff) {
		t.Error("the mode of an epoch that is not known is set")
	}
}

func TestKeyZeroIsAKey(t *testing.T) {
	t.Parallel()
	x := newIndex(t, Options{})
	join(t, x, "a", 1, ModePrecise)
	x.Apply("a", 1, stored(TierDevice, 0, 1))
	want(t, x, []uint64{0, 1}, Match{"a", 1, ModePrecise, [Tiers]uint32{2, 2, 2, 2}, 2})
}

func TestOptionsThatCannotHoldAreRefused(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{
		{MaxBytes: 1 << 19},
		{MaxBytes: 2 << 20, MaxPredictions: 1 << 20},
		{MaxReplicas: -1},
		{MaxReplicas: 4096},
		{PreciseTTL: -1},
		{PredictedTTL: -1},
		{MaxPredictions: -1},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

// A batch that was under way as its replica ended must not reach whoever has the ordinal
// next.
func TestWriterOfAnEndedLifeWritesNothing(t *testing.T) {
	t.Parallel()
	x := newIndex(t, Options{MaxReplicas: 1})
	join(t, x, "a", 1, ModePrecise)
	late := x.roster.Load().life("a", 1)
	x.Forget("a", 2)
	for x.Sweep(100) {
		continue
	}
	join(t, x, "b", 1, ModePrecise)
	if next := x.roster.Load().life("b", 1); next.ordinal != late.ordinal {
		t.Fatalf("ordinal %d is not used again", late.ordinal)
	}
	x.updateAll(late, chain4, changeStore, TierDevice)
	want(t, x, chain4)
	if s := x.Stats(); s.Ignored != 4 || s.Entries != 0 {
		t.Errorf("%+v", s)
	}
}
