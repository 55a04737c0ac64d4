package kvevents

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// field is a member of a batch or an event, whichever way it is written.
type field uint8

const (
	fieldOther field = iota // what a newer engine adds
	fieldTag
	fieldHashes
	fieldParent
	fieldTokens
	fieldBlockSize
	fieldAdapterID
	fieldMedium
	fieldAdapterOrOptions // vLLM puts the adapter's name where SGLang puts a map
	fieldAdapter
	fieldExtras
	fieldGroup
	fieldSpec
	fieldLocality
	fieldSalt
	fieldTime
	fieldEvents
	fieldRank
)

// names of fields in events that are maps, of every engine.
func fieldOf(name []byte) field {
	switch string(name) {
	case "type":
		return fieldTag
	case "block_hashes":
		return fieldHashes
	case "parent_block_hash":
		return fieldParent
	case "token_ids":
		return fieldTokens
	case "block_size":
		return fieldBlockSize
	case "lora_id":
		return fieldAdapterID
	case "lora_name":
		return fieldAdapter
	case "medium":
		return fieldMedium
	case "extra_keys":
		return fieldExtras
	case "group_idx":
		return fieldGroup
	case "kv_cache_spec_kind":
		return fieldSpec
	case "locality":
		return fieldLocality
	case "cache_salt":
		return fieldSalt
	case "ts":
		return fieldTime
	case "events":
		return fieldEvents
	case "data_parallel_rank", "attn_dp_rank":
		return fieldRank
	}
	return fieldOther
}

// Positions of fields in batches and events that are arrays.
var (
	batchFields  = []field{fieldTime, fieldEvents, fieldRank}
	storedFields = []field{
		fieldTag, fieldHashes, fieldParent, fieldTokens, fieldBlockSize, fieldAdapterID, fieldMedium,
		fieldAdapterOrOptions, fieldExtras, fieldGroup, fieldSpec,
	}
	removedFields = []field{fieldTag, fieldHashes, fieldMedium, fieldGroup}
)

func kindOf(tag []byte) Kind {
	switch string(tag) {
	case "BlockStored":
		return KindStored
	case "BlockRemoved":
		return KindRemoved
	case "AllBlocksCleared":
		return KindCleared
	}
	return KindUnknown
}

// Decode reads a batch as vLLM and SGLang publish it, whichever version: batches and
// events may be arrays or maps, trailing or unknown fields are passed over, and an event
// that makes no sense is marked and does not stop the others. It keeps no reference to
// the payload beyond the batch's events.
func (b *Batch) Decode(payload []byte) error {
	b.reset()
	r := reader{data: payload}
	switch r.peek() {
	case kindArray:
		for i := range r.array() {
			f := fieldOther
			if i < len(batchFields) {
				f = batchFields[i]
			}
			b.field(&r, f)
		}
	case kindMap:
		for range r.mapping() {
			b.field(&r, r.key())
		}
	default:
		r.fail()
	}
	if r.bad || len(r.data) > 0 {
		b.reset()
		return ErrMalformed
	}
	return nil
}

// key reads the name of a map's next value. Keys that are no strings name nothing here.
func (r *reader) key() field {
	if r.peek() != kindString {
		r.skip()
		return fieldOther
	}
	return fieldOf(r.bytes())
}

// field reads one member of the batch.
func (b *Batch) field(r *reader, f field) {
	k := r.peek()
	switch {
	case f == fieldTime && (k == kindFloat || k == kindInt):
		b.Time = r.float()
	case f == fieldRank && k == kindInt:
		if rank, negative := r.integer(); !negative && rank < 1<<31 {
			b.Rank = int(rank)
		}
	case f == fieldEvents && k == kindArray:
		for range r.array() {
			b.event(r)
			if r.bad {
				return
			}
		}
	case f == fieldEvents:
		r.fail() // what a batch is there for
	default:
		r.skip()
	}
}

// pending is an event that is being read.
type pending struct {
	Event
	extras   reader // where extra_keys are: they are told apart by the adapter's name
	tagged   bool
	remote   bool // locality
	hashed   bool // Hashes were there
	nonsense bool // a field was not what it is
}

// event reads one event and appends it.
func (b *Batch) event(r *reader) {
	e := pending{Event: Event{Group: NoGroup, Tier: TierDevice}}
	switch r.peek() {
	case kindArray:
		b.positions(r, &e)
	case kindMap:
		for range r.mapping() {
			b.member(r, &e, r.key())
		}
	default:
		r.skip()
		e.nonsense = true
	}
	if r.bad {
		return
	}
	if e.remote {
		e.Tier = TierRemote
	}
	b.readExtras(&e)
	switch {
	case e.Kind == KindUnknown && e.tagged || e.Kind == KindCleared:
	case e.nonsense, !e.hashed, e.Kind == KindUnknown:
		e.Kind = KindMalformed
	}
	b.Events = append(b.Events, e.Event)
}

// positions reads an event that is an array: its tag says what stands where.
func (b *Batch) positions(r *reader, e *pending) {
	n := r.array()
	if n == 0 {
		return
	}
	b.member(r, e, fieldTag)
	var at []field
	switch e.Kind {
	case KindStored:
		at = storedFields
	case KindRemoved:
		at = removedFields
	default: // no field has a meaning
	}
	for i := 1; i < n && !r.bad; i++ {
		f := fieldOther
		if i < len(at) {
			f = at[i]
		}
		b.member(r, e, f)
	}
}

// member reads one field of an event. One of another kind than it should be is passed
// over; where the event cannot do without, it makes no sense.
func (b *Batch) member(r *reader, e *pending, f field) {
	k := r.peek()
	text := k == kindString || k == kindBinary
	switch {
	case f == fieldTag && k == kindString:
		e.Kind, e.tagged = kindOf(r.bytes()), true
	case f == fieldHashes && k == kindArray:
		b.readHashes(r, e)
	case f == fieldParent && (k == kindInt || text):
		e.Parent, e.HasParent = r.hash(), true
	case f == fieldTokens && k == kindArray:
		b.readTokens(r, e)
	case f == fieldBlockSize && k == kindInt:
		e.BlockSize = r.small()
	case f == fieldGroup && k == kindInt:
		e.Group = r.small()
	case f == fieldAdapterID && k == kindInt:
		r.integer()
		e.UnnamedAdapter = len(e.Adapter) == 0
	case (f == fieldAdapter || f == fieldAdapterOrOptions) && text:
		e.Adapter = r.bytes()
		e.UnnamedAdapter = e.UnnamedAdapter && len(e.Adapter) == 0
	case f == fieldAdapterOrOptions && k == kindMap:
		for range r.mapping() {
			b.member(r, e, r.key())
		}
	case f == fieldMedium && text:
		e.Tier = tierOf(r.bytes())
	case f == fieldSpec && text:
		e.Spec = specOf(r.bytes())
	case f == fieldSalt && text:
		e.Salt = r.bytes()
	case f == fieldLocality && text:
		e.remote = string(r.bytes()) == "REMOTE"
	case f == fieldExtras && k == kindArray:
		e.extras = *r
		r.skip()
	case f != fieldOther && k != kindNil:
		e.nonsense = e.nonsense || f != fieldLocality
		r.skip()
	default:
		r.skip()
	}
}

// small reads an integer that counts something; nonsense is -1.
func (r *reader) small() int {
	v, negative := r.integer()
	if negative || v >= 1<<31 {
		return -1
	}
	return int(v)
}

// hash reads an engine's name of a block. Engines with digests publish 64 bits of them
// or all; what matters here is that equal ones stay equal.
func (r *reader) hash() uint64 {
	switch r.peek() {
	case kindInt:
		v, _ := r.integer()
		return v
	case kindString, kindBinary:
		return hashOf(r.bytes())
	default:
		r.skip()
		return 0
	}
}

func hashOf(digest []byte) uint64 {
	if len(digest) == 8 {
		return binary.BigEndian.Uint64(digest)
	}
	return xxhash.Sum64(digest)
}

func (b *Batch) readHashes(r *reader, e *pending) {
	from := len(b.hashes)
	for range r.array() {
		if k := r.peek(); k != kindInt && k != kindString && k != kindBinary {
			e.nonsense = true
		}
		b.hashes = append(b.hashes, r.hash())
	}
	e.Hashes, e.hashed = b.hashes[from:len(b.hashes):len(b.hashes)], true
}

// readTokens is where most of a batch's bytes go: its loop reads what ids look like and
// leaves the rest to token.
func (b *Batch) readTokens(r *reader, e *pending) {
	n := r.array()
	from := len(b.tokens)
	e.PlainTokens = true
	tokens, data := b.tokens, r.data
	for range n {
		switch {
		case len(data) > 0 && data[0] < 0x80:
			tokens = append(tokens, uint32(data[0]))
			data = data[1:]
		case len(data) > 2 && data[0] == 0xcd:
			tokens = append(tokens, uint32(binary.BigEndian.Uint16(data[1:])))
			data = data[3:]
		case len(data) > 4 && data[0] == 0xce:
			tokens = append(tokens, binary.BigEndian.Uint32(data[1:]))
			data = data[5:]
		default:
			r.data = data
			id, plain := r.token()
			e.PlainTokens = e.PlainTokens && plain
			tokens = append(tokens, id)
			data = r.data
		}
		if r.bad {
			return
		}
	}
	r.data, b.tokens = data, tokens
	e.Tokens = b.tokens[from:len(b.tokens):len(b.tokens)]
}

// token reads an id of any width, or a pair of them: SGLang's speculative trees name a
// block by bigrams, whose first ids are the tokens.
func (r *reader) token() (id uint32, plain bool) {
	if r.peek() == kindArray {
		n := r.array()
		if n == 0 {
			return 0, false
		}
		if r.peek() == kindArray { // pairs do not nest
			r.skip()
		} else {
			id, plain = r.token()
		}
		for range n - 1 {
			r.skip()
		}
		return id, plain
	}
	if r.peek() != kindInt {
		r.skip()
		return 0, false
	}
	v, negative := r.integer()
	return uint32(v), !negative && v < 1<<32
}
