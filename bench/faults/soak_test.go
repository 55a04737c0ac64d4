//go:build linux

package faults

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestSoakStaysFlat is the short form of the soak; PENSTOCK_SOAK makes it as
// long as it says.
func TestSoakStaysFlat(t *testing.T) {
	real(t)
	o := SoakOptions{For: 20 * time.Second, Every: 500 * time.Millisecond, Clients: 16, Seed: 1, Out: writer{t}}
	if text := os.Getenv("PENSTOCK_SOAK"); text != "" {
		length, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("cannot read PENSTOCK_SOAK: %v", err)
		}
		o.For, o.Every, o.Clients = length, 5*time.Second, 32
	}
	if err := Soak(t.Context(), o); err != nil {
		t.Error(err)
	}
}

// writer writes to the test's log.
type writer struct{ t *testing.T }

func (w writer) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

func TestGrowthIsNotFlat(t *testing.T) {
	t.Parallel()
	rows := make([]Footprint, 30)
	for i := range rows {
		rows[i] = Footprint{Resident: 50 << 20, Files: 100, Goroutines: 200, Leases: 10}
	}
	if err := flat(rows); err != nil {
		t.Errorf("flat rows: %v", err)
	}
	for i := range rows {
		rows[i].Resident += int64(i) << 21
	}
	if flat(rows) == nil {
		t.Error("a leak of two MiB per sample went unnoticed")
	}
	for i := range rows {
		rows[i].Resident, rows[i].Goroutines = 50<<20, 100+10*i
	}
	if flat(rows) == nil {
		t.Error("a leak of ten goroutines per sample went unnoticed")
	}
	if flat(rows[:4]) == nil {
		t.Error("four samples prove nothing")
	}
}
