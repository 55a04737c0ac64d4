package pools

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"penstock/configs"
)

func twoPools() []configs.Pool {
	a, b := poolOf(2), poolOf(1)
	a.Name, b.Name = "a", "b"
	a.Models = []configs.Model{{ID: "big", Aliases: []string{"gpt-4"}, Adapters: []string{"lora"}}}
	b.Default = true
	return []configs.Pool{a, b}
}

func newTestFleet(t *testing.T, cfg []configs.Pool) *Fleet {
	t.Helper()
	f, err := NewFleet(cfg, Deps{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func TestLookupFindsThePool(t *testing.T) {
	t.Parallel()
	f := newTestFleet(t, twoPools())
	check := func(model, pool, id string, aliased bool) {
		t.Helper()
		s, gotID, gotAliased, ok := f.Lookup(model)
		if !ok || s.Name() != pool || gotID != id || gotAliased != aliased {
			t.Errorf("%q: %v %q %v %v", model, s, gotID, gotAliased, ok)
		}
	}
	check("big", "a", "big", false)
	check("gpt-4", "a", "big", true)
	check("lora", "a", "lora", false)
	check("unknown", "b", "unknown", false)
	check("", "b", "", false)

	b := f.Pool("b")
	b.ReportModels("r0", b.View().Members[0].Epoch, []string{"small", "big"})
	check("small", "b", "small", false)
	check("big", "a", "big", false) // a listing does not take a configured name
	var names []string
	for _, m := range f.Models() {
		names = append(names, m.Pool+"/"+m.Name)
	}
	if want := []string{"a/big", "a/gpt-4", "a/lora", "b/small"}; !slices.Equal(names, want) {
		t.Errorf("models %v, want %v", names, want)
	}
}

func TestLookupWithoutADefault(t *testing.T) {
	t.Parallel()
	cfg := twoPools()
	cfg[1].Default = false
	if _, _, _, ok := newTestFleet(t, cfg).Lookup("unknown"); ok {
		t.Error("two pools and no default: an unknown name leads somewhere")
	}
	if s, _, _, ok := newTestFleet(t, cfg[:1]).Lookup("unknown"); !ok || s.Name() != "a" {
		t.Error("the only pool does not take an unknown name")
	}
}

func TestFleetReloadIsAllOrNothing(t *testing.T) {
	t.Parallel()
	cfg := twoPools()
	f := newTestFleet(t, cfg)
	a, b := f.Pool("a"), f.Pool("b")
	l := acquire(t, b, "r0")

	bad := twoPools()
	bad[1].Replicas[0].URL = "nonsense"
	if err := f.Apply(bad); err == nil {
		t.Fatal("a bad configuration was taken")
	}
	if err := f.Apply(append(twoPools(), twoPools()[0])); err == nil {
		t.Fatal("two pools of one name were taken")
	}
	next := poolOf(1)
	next.Name = "c"
	if err := f.Apply([]configs.Pool{next, cfg[0]}); err != nil {
		t.Fatal(err)
	}
	if f.Pool("a") != a || f.Pool("b") != nil || f.Pool("c") == nil {
		t.Fatal("the wrong pools stayed")
	}
	if n := f.Leases(); n != 1 {
		t.Fatalf("leases on a pool that is gone: %d", n)
	}
	l.End(OutcomeOK)
	if n := f.Leases(); n != 0 {
		t.Fatalf("leases %d", n)
	}
	if len(b.View().Members) != 0 {
		t.Fatal("a pool that is gone keeps replicas")
	}
}

func TestMetricsFollowMembership(t *testing.T) {
	t.Parallel()
	f := newTestFleet(t, twoPools()[1:])
	s := f.Pool("b")
	reg := prometheus.NewPedanticRegistry()
	if err := reg.Register(NewCollector(f)); err != nil {
		t.Fatal(err)
	}
	l := acquire(t, s, "r0")
	ready(s)
	s.ReportLoad("r0", s.View().Members[0].Epoch, EngineLoad{Running: 4, Waiting: -1, KVUsage: -1})
	got := gather(t, reg)
	for series, want := range map[string]float64{
		"penstock_replica_in_flight_requests b r0":      1,
		"penstock_replica_tokens b r0":                  150,
		"penstock_replica_state b r0 ready":             1,
		"penstock_replica_state b r0 pending":           0,
		"penstock_replica_breaker_state b r0 closed":    1,
		"penstock_replica_engine_running_requests b r0": 4,
		"penstock_replica_ramp b r0":                    1,
		"penstock_pool_state_changes_total b ready":     1,
		"penstock_pool_probes_total b ok":               1,
		"penstock_pool_load_readings_total b ok":        1,
		"penstock_pool_panic b":                         0,
	} {
		if v, ok := got[series]; !ok || v != want {
			t.Errorf("%s: %v (there: %v), want %v", series, v, ok, want)
		}
	}
	if _, ok := got["penstock_replica_engine_waiting_requests b r0"]; ok {
		t.Error("an unknown load is exported")
	}
	l.End(OutcomeOK)
	if _, err := s.Remove("r0"); err != nil {
		t.Fatal(err)
	}
	for series := range gather(t, reg) {
		if strings.HasPrefix(series, "penstock_replica_") {
			t.Errorf("a series of a removed replica: %s", series)
		}
	}
}

// gather returns every sample under its name and label values.
func gather(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			key := f.GetName()
			for _, l := range m.GetLabel() {
				key += " " + l.GetValue()
			}
			out[key] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return out
}

func TestSnapshotIsInStableOrder(t *testing.T) {
	t.Parallel()
	f := newTestFleet(t, twoPools())
	var got []string
	for _, st := range f.Snapshot() {
		got = append(got, st.Pool+"/"+string(st.ID))
		if st.Breaker != "closed" || st.State != "pending" || st.URL == "" || st.Running != -1 || st.LoadAgeSeconds != -1 {
			t.Errorf("%+v", st)
		}
	}
	if want := []string{"a/r0", "a/r1", "b/r0"}; !slices.Equal(got, want) {
		t.Fatalf("%v", got)
	}
}
