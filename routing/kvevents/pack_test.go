package kvevents

import (
	"encoding/binary"
	"math"
)

// A small MessagePack writer for tests: nil, bool, int, int64, uint64, float64, string,
// []byte, []any and pairs. It writes the shortest form, as msgspec does.
type pairs []any

func pack(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, 0xc0)
	case bool:
		if v {
			return append(dst, 0xc3)
		}
		return append(dst, 0xc2)
	case int:
		return packInt(dst, int64(v))
	case int64:
		return packInt(dst, v)
	case uint64:
		if v <= math.MaxInt64 {
			return packInt(dst, int64(v))
		}
		return binary.BigEndian.AppendUint64(append(dst, 0xcf), v)
	case float64:
		return binary.BigEndian.AppendUint64(append(dst, 0xcb), math.Float64bits(v))
	case string:
		return append(packSize(dst, len(v), 0xa0, 32, 0xd9), v...)
	case []byte:
		return append(packSize(dst, len(v), 0, 0, 0xc4), v...)
	case []any:
		return packAll(packSize(dst, len(v), 0x90, 16, 0xdb), v)
	case pairs:
		return packAll(packSize(dst, len(v)/2, 0x80, 16, 0xdd), v)
	}
	panic("pack: unknown type")
}

func packAll(dst []byte, values []any) []byte {
	for _, v := range values {
		dst = pack(dst, v)
	}
	return dst
}

// packSize writes a head: within the byte short if there is room, else as one of three
// widths after wide; collections have none of one byte.
func packSize(dst []byte, n int, short byte, room int, wide byte) []byte {
	collection := wide == 0xdb || wide == 0xdd
	switch {
	case n < room:
		return append(dst, short|byte(n))
	case n < 256 && !collection:
		return append(dst, wide, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, wide+1), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, wide+2), uint32(n))
}

func packInt(dst []byte, v int64) []byte {
	switch {
	case v >= 0 && v < 128, v < 0 && v >= -32:
		return append(dst, byte(v))
	case v >= 0 && v < 256:
		return append(dst, 0xcc, byte(v))
	case v >= 0 && v < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, 0xcd), uint16(v))
	case v >= 0 && v < 1<<32:
		return binary.BigEndian.AppendUint32(append(dst, 0xce), uint32(v))
	case v >= 0:
		return binary.BigEndian.AppendUint64(append(dst, 0xcf), uint64(v))
	case v >= math.MinInt8:
		return append(dst, 0xd0, byte(v))
	case v >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(dst, 0xd1), uint16(v))
	case v >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(dst, 0xd2), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(dst, 0xd3), uint64(v))
}

// packBatch is a batch of events as vLLM publishes it.
func packBatch(ts float64, rank any, events ...any) []byte {
	return pack(nil, []any{ts, events, rank})
}

// anys makes values for pack of a slice.
func anys[E any](s []E) []any {
	out := make([]any, len(s))
	for i, v := range s {
		switch v := any(v).(type) {
		case uint32:
			out[i] = int(v)
		default:
			out[i] = v
		}
	}
	return out
}
