package auth

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"penstock/configs"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func clock(t time.Time) func() time.Time { return func() time.Time { return t } }

func digestHex(key string) string {
	d := sha256.Sum256([]byte(key))
	return hex.EncodeToString(d[:])
}

func mustNew(t testing.TB, now func() time.Time, keys ...configs.APIKey) *Store {
	t.Helper()
	s, err := New(configs.Auth{Keys: keys}, now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLookup(t *testing.T) {
	t.Parallel()
	s := mustNew(t, clock(noon),
		configs.APIKey{ID: "team-a", Key: configs.NewSecret("sk-a"), Tenant: "a", Trusted: true},
		configs.APIKey{ID: "team-b", SHA256: strings.ToUpper(digestHex("sk-b")), Tenant: "b", Models: []string{"m1", "m2"}},
		configs.APIKey{ID: "old", SHA256: digestHex("sk-old"), Expires: "2026-03-01T12:00:00Z"},
		configs.APIKey{ID: "later", SHA256: digestHex("sk-later"), Expires: "2026-03-01T13:00:01+01:00"},
		configs.APIKey{ID: "turning", SHA256: digestHex("sk-1"), Expires: "2026-01-01T00:00:00Z"},
		configs.APIKey{ID: "turning", SHA256: digestHex("sk-2")},
	)
	f := func(key, wantID, wantTenant string, wantTrusted bool, wantErr error) {
		t.Helper()
		p, err := s.Lookup([]byte(key))
		if !errors.Is(err, wantErr) {
			t.Errorf("Lookup(%q): error %v, want %v", key, err, wantErr)
		}
		if p.ID != wantID || p.Tenant != wantTenant || p.Trusted != wantTrusted {
			t.Errorf("Lookup(%q) = %+v", key, p)
		}
	}
	f("sk-a", "team-a", "a", true, nil)
	f("sk-b", "team-b", "b", false, nil)
	f("sk-later", "later", "", false, nil)
	f("sk-2", "turning", "", false, nil)
	f("sk-1", "", "", false, ErrExpired)
	f("sk-old", "", "", false, ErrExpired)
	f("sk-c", "", "", false, ErrUnknown)
	f("", "", "", false, ErrUnknown)
	f(digestHex("sk-a"), "", "", false, ErrUnknown)
}

func TestRotationKeepsOneIdentity(t *testing.T) {
	t.Parallel()
	s := mustNew(t, clock(noon),
		configs.APIKey{ID: "team", Key: configs.NewSecret("sk-old"), Tenant: "t"},
		configs.APIKey{ID: "team", Key: configs.NewSecret("sk-new"), Tenant: "t"},
	)
	for _, key := range []string{"sk-old", "sk-new"} {
		p, err := s.Lookup([]byte(key))
		if err != nil || p.ID != "team" || p.Tenant != "t" {
			t.Errorf("Lookup(%q) = %+v, %v", key, p, err)
		}
	}
}

func TestAllowsModel(t *testing.T) {
	t.Parallel()
	s := mustNew(t, clock(noon), configs.APIKey{ID: "b", Key: configs.NewSecret("k"), Models: []string{"m1"}})
	p, err := s.Lookup([]byte("k"))
	if err != nil {
		t.Fatal(err)
	}
	if !p.AllowsModel("m1") || p.AllowsModel("m2") || p.AllowsModel("") {
		t.Errorf("a key limited to m1 allows the wrong models")
	}
	if !(Principal{}).AllowsModel("anything") {
		t.Errorf("the zero principal must allow every model")
	}
}

// The clock is read once whatever the key is: a stand-in for "same work", since
// a test must not measure time.
func TestUnknownKeyTakesTheSameSteps(t *testing.T) {
	t.Parallel()
	reads := 0
	s := mustNew(t, func() time.Time { reads++; return noon },
		configs.APIKey{ID: "a", Key: configs.NewSecret("known")},
		configs.APIKey{ID: "b", Key: configs.NewSecret("expired"), Expires: "2020-01-01T00:00:00Z"},
	)
	for _, key := range []string{"known", "expired", "unknown", ""} {
		reads = 0
		_, _ = s.Lookup([]byte(key))
		if reads != 1 {
			t.Errorf("Lookup(%q) read the clock %d times, want 1", key, reads)
		}
	}
}

func TestBadKeysAreAllReportedAndChangeNothing(t *testing.T) {
	t.Parallel()
	s := mustNew(t, clock(noon), configs.APIKey{ID: "a", Key: configs.NewSecret("sk-a")})
	err := s.Apply(configs.Auth{Keys: []configs.APIKey{
		{ID: "", Key: configs.NewSecret("x")},
		{ID: "both", Key: configs.NewSecret("x"), SHA256: digestHex("x")},
		{ID: "short", SHA256: "abc"},
		{ID: "nothex", SHA256: strings.Repeat("zz", 32)},
		{ID: "when", Key: configs.NewSecret("y"), Expires: "tomorrow"},
		{ID: "one", Key: configs.NewSecret("same")},
		{ID: "two", SHA256: digestHex("same")},
	}})
	if err == nil {
		t.Fatal("bad keys were accepted")
	}
	for _, want := range []string{"without an id", `"both"`, `"short"`, `"nothex"`, `"when"`, `same key as one of "one"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not mention %s: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "zz") {
		t.Errorf("error shows the text of a digest: %v", err)
	}
	if _, err := s.Lookup([]byte("sk-a")); err != nil {
		t.Errorf("the old key was lost: %v", err)
	}
}

func TestRequired(t *testing.T) {
	t.Parallel()
	if mustNew(t, clock(noon)).Required() {
		t.Error("a store without keys requires one")
	}
	expired := configs.APIKey{ID: "a", Key: configs.NewSecret("k"), Expires: "2020-01-01T00:00:00Z"}
	if !mustNew(t, clock(noon), expired).Required() {
		t.Error("a store whose keys have all expired must stay closed")
	}
}

func TestApplySwapsUnderReaders(t *testing.T) {
	t.Parallel()
	one := configs.Auth{Keys: []configs.APIKey{{ID: "a", Key: configs.NewSecret("k"), Tenant: "one"}}}
	two := configs.Auth{Keys: []configs.APIKey{{ID: "a", Key: configs.NewSecret("k"), Tenant: "two"}}}
	s := mustNew(t, clock(noon), one.Keys...)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 1000 {
				p, err := s.Lookup([]byte("k"))
				if err != nil || p.Tenant != "one" && p.Tenant != "two" {
					t.Errorf("Lookup = %+v, %v", p, err)
					return
				}
			}
		})
	}
	for range 100 {
		for _, c := range []configs.Auth{two, one} {
			if err := s.Apply(c); err != nil {
				t.Error(err)
			}
		}
	}
	readers.Wait()
}

func TestLookupDoesNotAllocate(t *testing.T) {
	s := mustNew(t, clock(noon),
		configs.APIKey{ID: "a", Key: configs.NewSecret("sk-0123456789abcdef0123456789abcdef"), Models: []string{"m"}},
		configs.APIKey{ID: "b", Key: configs.NewSecret("sk-expired"), Expires: "2020-01-01T00:00:00Z"},
	)
	for _, header := range []string{"Bearer sk-0123456789abcdef0123456789abcdef", "Bearer sk-expired", "Bearer sk-unknown"} {
		value := []byte(header)
		n := testing.AllocsPerRun(100, func() {
			key, _ := FromHeader(value, nil)
			p, _ := s.Lookup(key)
			p.AllowsModel("m")
		})
		if n != 0 {
			t.Errorf("%q: %v allocations, want 0", header, n)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	s := mustNew(b, time.Now, configs.APIKey{ID: "a", Key: configs.NewSecret("sk-0123456789abcdef0123456789abcdef")})
	value := []byte("Bearer sk-0123456789abcdef0123456789abcdef")
	b.ReportAllocs()
	for b.Loop() {
		key, _ := FromHeader(value, nil)
		if _, err := s.Lookup(key); err != nil {
			b.Fatal(err)
		}
	}
}
