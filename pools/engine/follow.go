package engine

import (
	"context"
	"sync"
	"time"

	"penstock/pools"
)

// life names one life of a replica.
type life struct {
	id    pools.ReplicaID
	epoch pools.Epoch
}

// Follow runs f in a goroutine for each replica of the pool, for as long as it
// is a member, and returns when ctx is done and all of them have ended.
func Follow(ctx context.Context, set *pools.Set, f func(ctx context.Context, id pools.ReplicaID, ep pools.Epoch)) {
	changed, stop := set.Watch()
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	running := map[life]context.CancelFunc{}
	defer func() {
		for _, cancel := range running {
			cancel()
		}
	}()
	for {
		v := set.View()
		now := make(map[life]bool, len(v.Members))
		for i := range v.Members {
			l := life{v.Members[i].ID, v.Members[i].Epoch}
			now[l] = true
			if running[l] == nil {
				own, cancel := context.WithCancel(ctx)
				running[l] = cancel
				wg.Go(func() { f(own, l.id, l.epoch) })
			}
		}
		for l, cancel := range running {
			if !now[l] {
				cancel()
				delete(running, l)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// Current returns the replica as the pool shows it now, so that a change of its
// labels or limits is seen; ok is false when that life is over.
func Current(set *pools.Set, id pools.ReplicaID, ep pools.Epoch) (r pools.Replica, ok bool) {
	v := set.View()
	i := v.Find(id)
	if i < 0 || v.Members[i].Epoch != ep {
		return pools.Replica{}, false
	}
	return v.Members[i].Replica, true
}

// Wait waits for d and reports whether the time passed before ctx was done.
func Wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
