// Package deepseek writes conversations as DeepSeek V3.2 and V4 want them, which come
// without a chat template: as vLLM 0.32 does in tokenizers/deepseek_v32_encoding.py and
// deepseek_v4_encoding.py, which follow the encoders that DeepSeek published with the
// weights. The models' fixed texts are theirs.
//
// Its messages are those that vLLM makes of a request's: contents are text for V3.2
// and lists of parts for V4, and arguments of calls are objects. It is pure, and
// starts no goroutine.
package deepseek
