package keying

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// fingerprint stands for all of a request that its prompt depends on.
type fingerprint [16]byte

// sealer makes fingerprints: GMAC under a key drawn for the process, as package keys
// makes its tags, because clients choose the text.
type sealer struct{ gcm cipher.AEAD }

func newSealer(secret []byte) (sealer, error) {
	block, err := aes.NewCipher(secret)
	if err != nil {
		return sealer{}, fmt.Errorf("cannot key fingerprints: %w", err)
	}
	gcm, err := cipher.NewGCM(block)
	return sealer{gcm}, err
}

// sealMemory holds a tag, what sealing writes, and the nonce, which is constant: no
// tag is ever shown to anybody. On the stack it would escape through the interface.
type sealMemory [2*16 + 12]byte

// of is the fingerprint of a request. Members that do not change prompts are left
// out; whatever is not known to be one of them counts.
func (g sealer) of(memory *sealMemory, q *Request, namespace uint64) fingerprint {
	nonce, out := memory[32:], memory[:32]
	binary.LittleEndian.PutUint64(out, namespace)
	out[8] = byte(q.Kind)
	clear(out[9:16])
	m := newMembers(q.Body)
	for {
		one, ok := m.next()
		if !ok {
			return fingerprint(out[:16])
		}
		if neutral[string(one.name)] {
			continue
		}
		sealed := g.gcm.Seal(out[:0], nonce, out[:16], one.whole)
		copy(out[:16], sealed[16:])
	}
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
