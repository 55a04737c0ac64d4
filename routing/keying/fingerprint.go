package keying

import (
	"encoding/binary"
	"time"

	"github.com/cespare/xxhash/v2"

	"penstock/routing/internal/gmac"
)

// fingerprint stands for all of a request that its prompt depends on. It is keyed,
// because clients choose the text.
type fingerprint = gmac.Tag

// fingerprintOf is the fingerprint of a request on one day of the engines' calendar,
// which templates may print. Members that do not change prompts are left out; whatever
// is not known to be one of them counts.
func fingerprintOf(k gmac.Key, memory *gmac.Scratch, q *Request, namespace uint64, day int32) fingerprint {
	var t fingerprint
	binary.LittleEndian.PutUint64(t[:], namespace)
	t[8] = byte(q.Kind)
	binary.LittleEndian.PutUint32(t[12:], uint32(day))
	m := newMembers(q.Body)
	for {
		one, ok := m.next()
		if !ok {
			return t
		}
		if !neutral[string(one.name)] {
			t = k.Next(memory, t, one.whole)
		}
	}
}

// calendar is the engines' clock: a day, and when it ends.
func calendar(now time.Time, zone *time.Location) (day int32, ends time.Time) {
	year, month, date := now.In(zone).Date()
	return int32(year*400 + now.In(zone).YearDay()), time.Date(year, month, date+1, 0, 0, 0, 0, zone)
}

// neutral are members of requests that no engine puts into a prompt, and those that
// the namespace stands for.
var neutral = map[string]bool{
	"model": true, "cache_salt": true, "stream": true, "stream_options": true, "n": true, "best_of": true,
	"temperature": true, "top_p": true, "top_k": true, "min_p": true, "seed": true, "stop": true,
	"max_tokens": true, "max_completion_tokens": true, "max_output_tokens": true, "min_tokens": true,
	"frequency_penalty": true, "presence_penalty": true, "repetition_penalty": true, "logit_bias": true,
	"logprobs": true, "top_logprobs": true, "prompt_logprobs": true, "stop_token_ids": true, "ignore_eos": true,
	"user": true, "metadata": true, "store": true, "service_tier": true, "safety_identifier": true,
	"request_id": true, "rid": true, "session_id": true, "prompt_cache_key": true, "priority": true,
	"return_token_ids": true, "skip_special_tokens": true, "parallel_tool_calls": true,
}

// mixTools sets prompts with other tools apart.
func mixTools(namespace uint64, tools []byte) uint64 {
	var d xxhash.Digest
	d.ResetWithSeed(namespace)
	_, _ = d.Write(tools) // cannot fail
	return d.Sum64()
}
