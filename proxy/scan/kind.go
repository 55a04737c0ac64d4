package scan

// Kind says which API a body belongs to; it decides which members are looked at.
type Kind uint8

// The kinds of request. The zero value is KindGeneric, which trusts names least.
const (
	KindGeneric           Kind = iota // any other route: /pooling, /invocations, ...
	KindChat                          // /v1/chat/completions
	KindCompletions                   // /v1/completions
	KindResponses                     // /v1/responses
	KindMessages                      // /v1/messages, /v1/messages/count_tokens
	KindEmbeddings                    // /v1/embeddings
	KindRerank                        // /rerank, /v1/rerank, /v2/rerank
	KindScore                         // /score, /v1/score, /classify
	KindTokenize                      // /tokenize
	KindGenerate                      // SGLang /generate
	KindInferenceGenerate             // vLLM /inference/v1/generate
)

// String names the kind as it appears in logs and metrics.
func (k Kind) String() string {
	switch k {
	case KindGeneric:
		return "generic"
	case KindChat:
		return "chat"
	case KindCompletions:
		return "completions"
	case KindResponses:
		return "responses"
	case KindMessages:
		return "messages"
	case KindEmbeddings:
		return "embeddings"
	case KindRerank:
		return "rerank"
	case KindScore:
		return "score"
	case KindTokenize:
		return "tokenize"
	case KindGenerate:
		return "generate"
	case KindInferenceGenerate:
		return "inference_generate"
	}
	return "unknown"
}

// kindSet is a set of kinds, one bit each.
type kindSet uint16

const (
	allKinds kindSet = 1<<(KindInferenceGenerate+1) - 1

	inGeneric     kindSet = 1 << KindGeneric
	inChat                = 1<<KindChat | inGeneric
	inCompletions         = 1<<KindCompletions | inGeneric
	inResponses           = 1<<KindResponses | inGeneric
	inMessages            = 1<<KindMessages | inGeneric
	inEmbeddings          = 1<<KindEmbeddings | inGeneric
	inRerank              = 1<<KindRerank | inGeneric
	inScore               = 1<<KindScore | inGeneric
	inTokenize            = 1<<KindTokenize | inGeneric
	inNative              = 1<<KindGenerate | 1<<KindInferenceGenerate | inGeneric
	inTemplated           = inChat | inMessages | inResponses | inTokenize | inEmbeddings
)

func (k kindSet) has(kind Kind) bool { return k>>kind&1 == 1 }
