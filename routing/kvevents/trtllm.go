package kvevents

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
)

// TensorRT-LLM keeps its events until somebody asks: the body of /kv_cache_events is a
// JSON array of them, each with a number that grows by one. Reading takes them away, so
// one reader only may poll an engine, and there is no replay.

// trtEvent is one element of the body.
type trtEvent struct {
	ID     uint64  `json:"event_id"`
	Data   trtData `json:"data"`
	Window int     `json:"window_size"`
	Rank   *int    `json:"attention_dp_rank"`
}

type trtData struct {
	Type      string     `json:"type"`
	Parent    *trtHash   `json:"parent_hash"`
	Blocks    []trtBlock `json:"blocks"`
	Hashes    []trtHash  `json:"block_hashes"`
	Hash      trtHash    `json:"block_hash"`
	CacheTier *struct {
		From int `json:"old_value"`
		To   int `json:"new_value"`
	} `json:"cache_level"`
}

type trtBlock struct {
	Hash   trtHash `json:"block_hash"`
	Tokens []struct {
		ID    int64  `json:"token_id"`
		Extra uint64 `json:"token_extra_id"`
	} `json:"tokens"`
	Level int               `json:"cache_level"`
	Media []json.RawMessage `json:"mm_keys"`
	Salt  *string           `json:"cache_salt"`
	LoRA  *int64            `json:"lora_id"`
}

// trtHash is a number of 64 bits, which no float may touch, or a digest in hexadecimal.
type trtHash uint64

// UnmarshalJSON reads either form.
func (h *trtHash) UnmarshalJSON(text []byte) error {
	if digits := bytes.Trim(text, `"`); len(digits) < len(text) {
		digest, err := hex.DecodeString(string(digits))
		if err != nil {
			return fmt.Errorf("cannot read hash %q: %w", text, err)
		}
		*h = trtHash(hashOf(digest))
		return nil
	}
	if v, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		*h = trtHash(v)
		return nil
	}
	v, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		return fmt.Errorf("cannot read hash %q: %w", text, err)
	}
	*h = trtHash(v)
	return nil
}

// Polled takes the body of TensorRT-LLM's /kv_cache_events. Engines of a fleet with
// attention data parallelism mix the ranks in one body: events of others than
// Options.Rank are passed over, and each rank has its own Publisher. BlockSize should be
// given, because the last block of a prompt may be told while it is not full.
func (p *Publisher) Polled(body []byte) error {
	var events []trtEvent
	if err := json.Unmarshal(body, &events); err != nil {
		p.count(MalformedBatch, 1)
		if p.picture != Unheard {
			p.picture = Doubtful
		}
		return fmt.Errorf("cannot read KV cache events: %w", err)
	}
	for i := range events {
		e := &events[i]
		if p.options.Rank >= 0 && e.Rank != nil && *e.Rank != p.options.Rank {
			p.count(WrongRank, 1)
			continue
		}
		if p.life.begun && e.ID < p.life.next {
			p.restart()
		}
		p.resume(e.ID)
		p.life.next = e.ID + 1
		p.batch.reset()
		p.batch.addTRT(e)
		for j := range p.batch.Events {
			p.apply(&p.batch.Events[j])
		}
	}
	return nil
}

// addTRT turns one event into ours: several, if its blocks are in different tiers or of
// different sizes.
func (b *Batch) addTRT(e *trtEvent) {
	event := Event{Tier: TierDevice, Group: e.Window, Spec: SpecWindow}
	if e.Window == 0 {
		event.Group, event.Spec = NoGroup, SpecUnset
	}
	switch e.Data.Type {
	case "created":
		event.Kind = KindCreated
	case "stored":
		b.addTRTBlocks(event, e.Data)
		return
	case "removed":
		event.Kind = KindEvicted // the level is not told
		for _, h := range e.Data.Hashes {
			event.Hashes = append(event.Hashes, uint64(h))
		}
	case "updated":
		if e.Data.CacheTier == nil {
			return // of the priority alone
		}
		event.Kind = KindMoved
		event.Hashes = []uint64{uint64(e.Data.Hash)}
		event.Tier, event.From = trtTier(e.Data.CacheTier.To), trtTier(e.Data.CacheTier.From)
	}
	b.Events = append(b.Events, event)
}

func trtTier(level int) Tier {
	switch level {
	case 0:
		return TierDevice
	case 1:
		return TierHost
	}
	return TierDisk
}

// addTRTBlocks adds the blocks of one store, a run of alike ones at a time.
func (b *Batch) addTRTBlocks(event Event, d trtData) {
	event.Kind = KindStored
	if d.Parent != nil {
		event.Parent, event.HasParent = uint64(*d.Parent), true
	}
	for i := 0; i < len(d.Blocks); {
		first := &d.Blocks[i]
		run := event
		run.Tier, run.BlockSize, run.PlainTokens = trtTier(first.Level), len(first.Tokens), true
		run.UnnamedAdapter = first.LoRA != nil
		if first.Salt != nil {
			run.Salt = []byte(*first.Salt)
		}
		for ; i < len(d.Blocks) && d.Blocks[i].Level == first.Level && len(d.Blocks[i].Tokens) == len(first.Tokens); i++ {
			run.add(&d.Blocks[i])
		}
		event.Parent, event.HasParent = run.Hashes[len(run.Hashes)-1], true
		b.Events = append(b.Events, run)
	}
}

// add appends a block to a store.
func (e *Event) add(block *trtBlock) {
	extra := ExtraNone
	if len(block.Media) > 0 {
		extra = ExtraOpaque
	}
	for _, t := range block.Tokens {
		if t.Extra != 0 || t.ID < 0 || t.ID >= 1<<32 {
			extra = ExtraOpaque
		}
		e.Tokens = append(e.Tokens, uint32(t.ID))
	}
	e.Hashes = append(e.Hashes, uint64(block.Hash))
	e.Extras = append(e.Extras, extra)
}
