package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"penstock/pools"
	"penstock/proxy/admin"
)

// fleetAdapter shows the fleet to the admin API in its own words.
type fleetAdapter struct{ a *app }

var _ admin.Fleet = (*fleetAdapter)(nil)

// Snapshot implements admin.Snapshotter.
func (f *fleetAdapter) Snapshot() []admin.Pool {
	models, sets := f.a.fleet.Models(), f.a.fleet.Pools()
	out := make([]admin.Pool, 0, len(sets))
	for _, set := range sets {
		cfg := set.Config()
		p := admin.Pool{
			Name: set.Name(), Engine: string(cfg.Engine), Policy: string(cfg.Policy),
			Default: cfg.Default, Panic: set.View().Panic, Tokenizer: f.tokenizer(set),
		}
		for _, m := range models {
			if m.Pool == set.Name() {
				p.Models = append(p.Models, m.Name)
			}
		}
		for _, s := range set.Snapshot() {
			p.Replicas = append(p.Replicas, replicaOf(set, &s))
			p.Engine = string(s.Engine)
		}
		out = append(out, p)
	}
	return out
}

// tokenizer shows how a pool's prompts are keyed; nil when they are not.
func (f *fleetAdapter) tokenizer(set *pools.Set) *admin.Tokenizer {
	s := f.a.keys.Find(set)
	if s == nil || !s.Active() {
		return nil
	}
	st := s.Status()
	out := &admin.Tokenizer{
		State: st.State.String(), Reason: st.Reason, Detail: st.Detail, Template: st.Template,
		Parity: st.Parity.String(), Engine: string(st.Engine), EngineVersion: st.EngineVersion,
		Kind: st.Info.Kind, Family: st.Info.Family, Vocabulary: st.Info.Vocabulary, Digest: st.Info.Digest,
		Bytes: st.Info.Bytes, BlockSize: st.BlockSize, MemoPlaces: st.MemoPlaces, MemoBytes: st.MemoBytes,
	}
	if !st.Checked.IsZero() {
		out.Checked = st.Checked.UTC().Format(time.RFC3339)
	}
	return out
}

func replicaOf(set *pools.Set, s *pools.Status) admin.Replica {
	healthy := false
	v := set.View()
	if i := v.Find(s.ID); i >= 0 {
		healthy = v.Members[i].Eligible("")
	}
	return admin.Replica{
		ID: string(s.ID), URL: s.URL, Epoch: uint64(s.Epoch), State: s.State, Healthy: healthy,
		Registered: s.Registered, Weight: s.Weight, Ranks: s.Ranks, MaxConcurrency: s.MaxConcurrency,
		Models: s.Models, Labels: s.Labels, InFlight: s.InFlight, Tokens: s.Tokens,
		Running: s.Running, Waiting: s.Waiting, KVUsage: s.KVUsage, Ramp: s.Ramp,
	}
}

func (f *fleetAdapter) set(pool string) (*pools.Set, error) {
	if pool == "" {
		if all := f.a.fleet.Pools(); len(all) == 1 {
			return all[0], nil
		}
	}
	if s := f.a.fleet.Pool(pool); s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("cannot find pool %q: %w", pool, admin.ErrNoPool)
}

// Add implements admin.Editor.
func (f *fleetAdapter) Add(_ context.Context, pool string, w admin.Worker) (string, error) {
	s, err := f.set(pool)
	if err != nil {
		return "", err
	}
	id := pools.IDFromURL(w.URL)
	err = s.Add(pools.Replica{
		ID: id, URL: w.URL, Weight: w.Weight, Ranks: w.Ranks, MaxConcurrency: w.MaxConcurrency,
		Models: w.Models, Labels: w.Labels, Registered: true,
	})
	return string(id), adminError(err)
}

// Update implements admin.Editor.
func (f *fleetAdapter) Update(_ context.Context, pool, id string, c admin.Change) error {
	s, err := f.set(pool)
	if err != nil {
		return err
	}
	return adminError(s.Update(pools.ReplicaID(id), func(r *pools.Replica) {
		set(&r.Weight, c.Weight)
		set(&r.Ranks, c.Ranks)
		set(&r.MaxConcurrency, c.MaxConcurrency)
		set(&r.Models, c.Models)
		set(&r.Labels, c.Labels)
	}))
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// Remove implements admin.Editor.
func (f *fleetAdapter) Remove(_ context.Context, pool, id string) error {
	s, err := f.set(pool)
	if err != nil {
		return err
	}
	_, err = s.Remove(pools.ReplicaID(id))
	return adminError(err)
}

// Drain implements admin.Drainer.
func (f *fleetAdapter) Drain(pool, id string) error {
	s, err := f.set(pool)
	if err != nil {
		return err
	}
	return adminError(s.Drain(pools.ReplicaID(id)))
}

// Undrain implements admin.Drainer.
func (f *fleetAdapter) Undrain(pool, id string) error {
	s, err := f.set(pool)
	if err != nil {
		return err
	}
	return adminError(s.Undrain(pools.ReplicaID(id)))
}

func adminError(err error) error {
	switch {
	case errors.Is(err, pools.ErrUnknown):
		return fmt.Errorf("%w: %w", admin.ErrNoReplica, err)
	case errors.Is(err, pools.ErrDuplicate):
		return fmt.Errorf("%w: %w", admin.ErrExists, err)
	}
	return err
}

// engineCaller asks a replica's engine something small for the worker API.
type engineCaller struct{ a *app }

var _ admin.Engines = (*engineCaller)(nil)

const maxEngineAnswer = 1 << 20

// Call implements admin.Engines.
func (e *engineCaller) Call(ctx context.Context, pool, id, method, path string) (admin.Answer, error) {
	f := &fleetAdapter{e.a}
	s, err := f.set(pool)
	if err != nil {
		return admin.Answer{}, err
	}
	v := s.View()
	i := v.Find(pools.ReplicaID(id))
	if i < 0 {
		return admin.Answer{}, admin.ErrNoReplica
	}
	cfg := s.Config()
	ctx, cancel := context.WithTimeout(ctx, cfg.Health.For(s.Engine(pools.ReplicaID(id))).Timeout.D())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, v.Members[i].URL+path, http.NoBody)
	if err != nil {
		return admin.Answer{}, fmt.Errorf("cannot ask replica %q: %w", id, err)
	}
	if cfg.Secret.Set() {
		req.Header.Set("Authorization", "Bearer "+cfg.Secret.Reveal())
	}
	client, err := e.a.probes.client(s.Name())
	if err != nil {
		return admin.Answer{}, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return admin.Answer{}, fmt.Errorf("cannot ask replica %q: %w", id, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxEngineAnswer))
	if err != nil {
		return admin.Answer{}, fmt.Errorf("cannot read answer of replica %q: %w", id, err)
	}
	return admin.Answer{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"), Body: body}, nil
}
