package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"penstock/configs"
)

// Errors of Lookup.
var (
	ErrUnknown = errors.New("auth: the key is not known")
	ErrExpired = errors.New("auth: the key has expired")
)

// Store answers whose a key is. It is safe for concurrent use.
type Store struct {
	now   func() time.Time
	table atomic.Pointer[table]
}

// table is one immutable set of keys.
type table struct {
	byDigest map[[sha256.Size]byte]*entry
	decoy    *entry // compared against when a key is unknown, so that both take the same work
}

// entry is one key.
type entry struct {
	digest    [sha256.Size]byte
	expires   time.Time // zero: never
	expired   error     // ready made, so that a refusal does not allocate
	principal Principal
}

// New builds a store from cfg. now gives the wall time that expiry is judged by.
func New(cfg configs.Auth, now func() time.Time) (*Store, error) {
	s := &Store{now: now}
	if err := s.Apply(cfg); err != nil {
		return nil, err
	}
	return s, nil
}

// Apply replaces all keys by those of cfg. After an error the old ones stay.
func (s *Store) Apply(cfg configs.Auth) error {
	t := &table{byDigest: make(map[[sha256.Size]byte]*entry, len(cfg.Keys)), decoy: &entry{}}
	var problems []error
	for i := range cfg.Keys {
		e, err := newEntry(&cfg.Keys[i])
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if other, dup := t.byDigest[e.digest]; dup {
			problems = append(problems, fmt.Errorf("cannot use API key %q: it is the same key as one of %q", e.principal.ID, other.principal.ID))
			continue
		}
		t.byDigest[e.digest] = e
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	s.table.Store(t)
	return nil
}

// Required reports whether callers must present a key. It stays true when all
// keys have expired: a gateway must not open up by itself.
func (s *Store) Required() bool { return len(s.table.Load().byDigest) > 0 }

// Lookup returns the owner of a key as it was presented. Its errors are
// ErrUnknown and, with the key's id in the message, ErrExpired.
//
// It does the same work whether or not the key exists: one digest, one map
// access, one constant-time comparison, one look at the clock. What a timing
// could tell about the map depends on the digest, which the caller cannot
// steer towards one that is stored.
func (s *Store) Lookup(key []byte) (Principal, error) {
	t := s.table.Load()
	digest := sha256.Sum256(key)
	e, known := t.byDigest[digest]
	if !known {
		e = t.decoy
	}
	same := subtle.ConstantTimeCompare(e.digest[:], digest[:]) == 1
	expired := !s.now().Before(e.expires) && !e.expires.IsZero()
	switch {
	case !known || !same:
		return Principal{}, ErrUnknown
	case expired:
		return Principal{}, e.expired
	}
	return e.principal, nil
}

func newEntry(k *configs.APIKey) (*entry, error) {
	if k.ID == "" {
		return nil, errors.New("cannot use an API key without an id")
	}
	digest, err := digestOf(k)
	if err != nil {
		return nil, fmt.Errorf("cannot use API key %q: %w", k.ID, err)
	}
	e := &entry{
		digest:    digest,
		expired:   fmt.Errorf("cannot accept key %q: %w", k.ID, ErrExpired),
		principal: Principal{ID: k.ID, Tenant: k.Tenant, Trusted: k.Trusted, models: modelSet(k.Models)},
	}
	if k.Expires != "" {
		if e.expires, err = time.Parse(time.RFC3339, k.Expires); err != nil {
			return nil, fmt.Errorf("cannot use API key %q: expires %q is not a time like 2030-01-31T00:00:00Z", k.ID, k.Expires)
		}
	}
	return e, nil
}

// digestOf returns the stored digest, or that of the key itself.
func digestOf(k *configs.APIKey) ([sha256.Size]byte, error) {
	var digest [sha256.Size]byte
	switch {
	case k.Key.Set() && k.SHA256 != "":
		return digest, errors.New("it has both key and sha256; give one")
	case k.Key.Set():
		return sha256.Sum256([]byte(k.Key.Reveal())), nil
	case len(k.SHA256) != hex.EncodedLen(sha256.Size):
		return digest, fmt.Errorf("sha256 needs %d hex digits, has %d", hex.EncodedLen(sha256.Size), len(k.SHA256))
	}
	if _, err := hex.Decode(digest[:], []byte(k.SHA256)); err != nil {
		// The text is not shown: someone may have put the key there.
		return digest, errors.New("sha256 is not hex")
	}
	return digest, nil
}
