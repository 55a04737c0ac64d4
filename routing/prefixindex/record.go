package prefixindex

// record is one (block, replica) pair in a word: the ordinal, a count of references per
// tier, and two bits of prediction. A record without references and prediction is none.
//
//	bits 0-11 ordinal | 12-35 four counts of 6 bits, device lowest | 36 predicted | 37 renewed
type record uint64

const (
	ordinalBits = 12
	countBits   = 6
	maxCount    = 1<<countBits - 1

	ordinalMask = record(1)<<ordinalBits - 1
	countsMask  = (record(1)<<(countBits*Tiers) - 1) << ordinalBits

	predictedBit = record(1) << (ordinalBits + countBits*Tiers)
	renewedBit   = predictedBit << 1 // predicted again: expiry is put off once
	recordMask   = renewedBit<<1 - 1
)

// levels are what a lookup counts: a run for each tier with those nearer, and one with
// predictions.
const levels = Tiers + 1

func (r record) ordinal() int     { return int(r & ordinalMask) }
func (r record) empty() bool      { return r&^ordinalMask == 0 }
func (r record) held() bool       { return r&countsMask != 0 }
func (r record) predicted() bool  { return r&predictedBit != 0 }
func (r record) count(t Tier) int { return int(r>>shiftOf(t)) & maxCount }
func shiftOf(t Tier) int          { return ordinalBits + countBits*int(t-1) }

// withCount saturates: what is counted more than maxCount times is removed early.
func (r record) withCount(t Tier, n int) record {
	return r&^(maxCount<<shiftOf(t)) | record(min(n, maxCount))<<shiftOf(t)
}

// change is what an update does to one pair.
type change uint8

const (
	changeStore change = iota
	changeRemove
	changePredict
	changeExpire // a prediction is due: cleared, or put off if renewed
)

// after is the record that a change leaves.
func (r record) after(c change, t Tier, m Mode) record {
	switch c {
	case changeStore:
		if t == TierDevice && m == ModePrecise {
			r &^= predictedBit | renewedBit // confirmed
		}
		return r.withCount(t, r.count(t)+1)
	case changeRemove:
		return r.withCount(t, max(r.count(t)-1, 0))
	case changePredict:
		switch {
		case r.predicted():
			return r | renewedBit
		case m == ModePrecise && r.count(TierDevice) > 0:
			return r // events know better
		}
		return r | predictedBit
	case changeExpire:
		if r&renewedBit != 0 {
			return r &^ renewedBit
		}
		return r &^ predictedBit
	}
	panic("BUG: unknown change")
}
