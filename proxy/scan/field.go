package scan

// Field names a member that the scanner recognises.
type Field uint8

// The recognised members. Names with a dot in String live inside another member.
const (
	FieldNone Field = iota

	FieldModel
	FieldStream
	FieldStreamOptions
	FieldIncludeUsage
	FieldContinuousUsage

	FieldPrompt
	FieldMessages
	FieldInput
	FieldText
	FieldInputIDs
	FieldTokenIDs
	FieldPromptTokenIDs
	FieldSystem
	FieldInstructions
	FieldTools
	FieldToolChoice
	FieldQuery
	FieldQueries
	FieldDocuments
	FieldItems
	FieldText1
	FieldText2
	FieldData1
	FieldData2

	FieldMaxTokens
	FieldMaxCompletionTokens
	FieldMaxOutputTokens
	FieldMinTokens
	FieldN
	FieldSamplingParams
	FieldSamplingMaxNewTokens
	FieldSamplingMaxTokens
	FieldSamplingMinTokens
	FieldSamplingN
	FieldExtraArgs

	FieldPriority
	FieldCacheSalt
	FieldExtraKey
	FieldRequestID
	FieldSessionID
	FieldSessionParams
	FieldSessionParamsID
	FieldSessionParamsSessionID
	FieldConversation
	FieldConversationID
	FieldConversationParams
	FieldConversationParamsID
	FieldPreviousResponseID
	FieldStore
	FieldBackground
	FieldUser
	FieldMetadata
	FieldMetadataUserID
	FieldPromptCacheKey
	FieldLoraPath

	FieldChatTemplate
	FieldChatTemplateKwargs
	FieldAddGenerationPrompt
	FieldContinueFinalMessage
	FieldAddSpecialTokens
	FieldTruncatePromptTokens
	FieldReasoningEffort
	FieldReturnTokenIDs

	FieldKVTransferParams
	FieldECTransferParams
	FieldBootstrapHost
	FieldBootstrapPort
	FieldBootstrapRoom
	FieldBootstrapOther // any other bootstrap_*; the only field that may repeat
	FieldDisaggregatedParams
	FieldRoutedDPRank
	FieldDataParallelRank
	FieldDisaggPrefillDPRank
	FieldRID
	FieldXArgs
	FieldWorkerIPC
	FieldExtraKVTransferParams
	FieldExtraECTransferParams

	fieldCount
)

// scope is the object in which a name is looked up.
type scope uint8

const (
	scopeTop scope = iota
	scopeStreamOptions
	scopeSampling
	scopeExtraArgs
	scopeSession
	scopeConversation
	scopeConversationParams
	scopeMetadata
	scopeCount
)

// shape is the JSON type that a field must have; null is always allowed.
type shape uint8

const (
	shapeAny shape = iota
	shapeString
	shapeBool
	shapeInt
	shapeObject
	shapeStringOrObject
	shapeObjectOrArray
)

// role is how a field takes part in the size of the prompt.
type role uint8

const (
	roleNone   role = iota
	rolePart        // bytes count towards the prompt: system, tools
	roleChat        // as rolePart, one prompt, may hold media: messages
	rolePrompt      // as rolePart, an array is several prompts or token ids
)

type fieldInfo struct {
	name     string
	kinds    kindSet
	scope    scope // where the name is looked up
	enter    scope // the scope inside, when the value is an object; scopeTop: none
	shape    shape
	role     role
	injected bool
	// hint: the value only informs an estimate or a preference. A repeated one
	// or one of the wrong type is the engine's business, not a reason to refuse.
	hint bool
}

// fields describes every Field. Sources: OpenAI and Anthropic API references for
// the plain names, the engines' request models for the rest.
var fields = [fieldCount]fieldInfo{
	FieldModel:           {name: "model", kinds: allKinds, shape: shapeString},
	FieldStream:          {name: "stream", kinds: allKinds, shape: shapeBool},
	FieldStreamOptions:   {name: "stream_options", kinds: allKinds, shape: shapeObject, enter: scopeStreamOptions},
	FieldIncludeUsage:    {name: "include_usage", kinds: allKinds, scope: scopeStreamOptions, shape: shapeBool},
	FieldContinuousUsage: {name: "continuous_usage_stats", kinds: allKinds, scope: scopeStreamOptions, shape: shapeBool},

	FieldPrompt:         {name: "prompt", kinds: inCompletions | inTokenize, role: rolePrompt},
	FieldMessages:       {name: "messages", kinds: inTemplated | inScore, role: roleChat},
	FieldInput:          {name: "input", kinds: inResponses | inEmbeddings | inScore, role: rolePrompt},
	FieldText:           {name: "text", kinds: inNative | inScore | inEmbeddings, role: rolePrompt},
	FieldInputIDs:       {name: "input_ids", kinds: inNative | inChat, role: rolePrompt},
	FieldTokenIDs:       {name: "token_ids", kinds: inNative, role: rolePrompt},
	FieldPromptTokenIDs: {name: "prompt_token_ids", kinds: inChat, role: rolePrompt},
	FieldSystem:         {name: "system", kinds: inMessages, role: rolePart},
	FieldInstructions:   {name: "instructions", kinds: inResponses, role: rolePart},
	FieldTools:          {name: "tools", kinds: inTemplated, role: rolePart},
	FieldToolChoice:     {name: "tool_choice", kinds: inTemplated, hint: true},
	FieldQuery:          {name: "query", kinds: inRerank | inScore, role: rolePart},
	FieldQueries:        {name: "queries", kinds: inScore, role: rolePrompt},
	FieldDocuments:      {name: "documents", kinds: inRerank | inScore | inChat, role: rolePrompt},
	FieldItems:          {name: "items", kinds: inScore, role: rolePrompt},
	FieldText1:          {name: "text_1", kinds: inScore, role: rolePrompt},
	FieldText2:          {name: "text_2", kinds: inScore, role: rolePrompt},
	FieldData1:          {name: "data_1", kinds: inScore, role: rolePrompt},
	FieldData2:          {name: "data_2", kinds: inScore, role: rolePrompt},

	FieldMaxTokens:            {name: "max_tokens", kinds: inChat | inCompletions | inMessages | inNative, shape: shapeInt, hint: true},
	FieldMaxCompletionTokens:  {name: "max_completion_tokens", kinds: inChat, shape: shapeInt, hint: true},
	FieldMaxOutputTokens:      {name: "max_output_tokens", kinds: inResponses, shape: shapeInt, hint: true},
	FieldMinTokens:            {name: "min_tokens", kinds: inChat | inCompletions, hint: true},
	FieldN:                    {name: "n", kinds: inChat | inCompletions, shape: shapeInt, hint: true},
	FieldSamplingParams:       {name: "sampling_params", kinds: inNative, shape: shapeObjectOrArray, enter: scopeSampling},
	FieldSamplingMaxNewTokens: {name: "max_new_tokens", kinds: inNative, scope: scopeSampling, shape: shapeInt, hint: true},
	FieldSamplingMaxTokens:    {name: "max_tokens", kinds: inNative, scope: scopeSampling, shape: shapeInt, hint: true},
	FieldSamplingMinTokens:    {name: "min_tokens", kinds: inNative, scope: scopeSampling, hint: true},
	FieldSamplingN:            {name: "n", kinds: inNative, scope: scopeSampling, shape: shapeInt, hint: true},
	FieldExtraArgs:            {name: "extra_args", kinds: inNative, scope: scopeSampling, shape: shapeObject, enter: scopeExtraArgs},

	FieldPriority:               {name: "priority", kinds: allKinds},
	FieldCacheSalt:              {name: "cache_salt", kinds: allKinds, shape: shapeString},
	FieldExtraKey:               {name: "extra_key", kinds: allKinds},
	FieldRequestID:              {name: "request_id", kinds: allKinds, hint: true},
	FieldSessionID:              {name: "session_id", kinds: allKinds, shape: shapeString},
	FieldSessionParams:          {name: "session_params", kinds: allKinds, shape: shapeObjectOrArray, enter: scopeSession},
	FieldSessionParamsID:        {name: "id", kinds: allKinds, scope: scopeSession, shape: shapeString},
	FieldSessionParamsSessionID: {name: "session_id", kinds: allKinds, scope: scopeSession, shape: shapeString},
	FieldConversation:           {name: "conversation", kinds: inResponses, shape: shapeStringOrObject, enter: scopeConversation},
	FieldConversationID:         {name: "id", kinds: inResponses, scope: scopeConversation, shape: shapeString},
	FieldConversationParams:     {name: "conversation_params", kinds: allKinds, shape: shapeObject, enter: scopeConversationParams},
	FieldConversationParamsID:   {name: "conversation_id", kinds: allKinds, scope: scopeConversationParams, shape: shapeString},
	FieldPreviousResponseID:     {name: "previous_response_id", kinds: inResponses, shape: shapeString},
	FieldStore:                  {name: "store", kinds: inResponses | inChat, shape: shapeBool, hint: true},
	FieldBackground:             {name: "background", kinds: inResponses, shape: shapeBool, hint: true},
	FieldUser:                   {name: "user", kinds: allKinds, shape: shapeString, hint: true},
	FieldMetadata:               {name: "metadata", kinds: inMessages, shape: shapeObject, enter: scopeMetadata, hint: true},
	FieldMetadataUserID:         {name: "user_id", kinds: inMessages, scope: scopeMetadata, shape: shapeString, hint: true},
	FieldPromptCacheKey:         {name: "prompt_cache_key", kinds: allKinds, shape: shapeString, hint: true},
	FieldLoraPath:               {name: "lora_path", kinds: allKinds},

	FieldChatTemplate:         {name: "chat_template", kinds: inTemplated, hint: true},
	FieldChatTemplateKwargs:   {name: "chat_template_kwargs", kinds: inTemplated, hint: true},
	FieldAddGenerationPrompt:  {name: "add_generation_prompt", kinds: inTemplated, hint: true},
	FieldContinueFinalMessage: {name: "continue_final_message", kinds: inTemplated, hint: true},
	FieldAddSpecialTokens:     {name: "add_special_tokens", kinds: allKinds, hint: true},
	FieldTruncatePromptTokens: {name: "truncate_prompt_tokens", kinds: allKinds, hint: true},
	FieldReasoningEffort:      {name: "reasoning_effort", kinds: inChat, hint: true},
	FieldReturnTokenIDs:       {name: "return_token_ids", kinds: allKinds, hint: true},

	FieldKVTransferParams:      {name: "kv_transfer_params", kinds: allKinds, injected: true},
	FieldECTransferParams:      {name: "ec_transfer_params", kinds: allKinds, injected: true},
	FieldBootstrapHost:         {name: "bootstrap_host", kinds: allKinds, injected: true},
	FieldBootstrapPort:         {name: "bootstrap_port", kinds: allKinds, injected: true},
	FieldBootstrapRoom:         {name: "bootstrap_room", kinds: allKinds, injected: true},
	FieldBootstrapOther:        {name: bootstrapPrefix, kinds: allKinds, injected: true},
	FieldDisaggregatedParams:   {name: "disaggregated_params", kinds: allKinds, injected: true},
	FieldRoutedDPRank:          {name: "routed_dp_rank", kinds: allKinds, injected: true},
	FieldDataParallelRank:      {name: "data_parallel_rank", kinds: allKinds, injected: true},
	FieldDisaggPrefillDPRank:   {name: "disagg_prefill_dp_rank", kinds: allKinds, injected: true},
	FieldRID:                   {name: "rid", kinds: allKinds, injected: true},
	FieldXArgs:                 {name: "vllm_xargs", kinds: allKinds, injected: true},
	FieldWorkerIPC:             {name: "http_worker_ipc", kinds: allKinds, injected: true}, // SGLang: socket that receives the output
	FieldExtraKVTransferParams: {name: "kv_transfer_params", kinds: inNative, scope: scopeExtraArgs, injected: true},
	FieldExtraECTransferParams: {name: "ec_transfer_params", kinds: inNative, scope: scopeExtraArgs, injected: true},
}

const (
	bootstrapPrefix = "bootstrap_"
	maxKey          = 32 // no name in fields is longer
)

// index finds fields by scope and name length; a bucket holds a handful.
var index = buildIndex()

func buildIndex() *[scopeCount][maxKey + 1][]Field {
	var x [scopeCount][maxKey + 1][]Field
	for f := FieldNone + 1; f < fieldCount; f++ {
		if f == FieldBootstrapOther {
			continue
		}
		in := fields[f]
		x[in.scope][len(in.name)] = append(x[in.scope][len(in.name)], f)
	}
	return &x
}

// lookup returns the field that key names in the scope, or FieldNone.
func lookup(sc scope, key []byte, kind Kind) Field {
	if len(key) <= maxKey {
		for _, f := range index[sc][len(key)] {
			if fields[f].name == string(key) {
				if !fields[f].kinds.has(kind) {
					return FieldNone
				}
				return f
			}
		}
	}
	if sc == scopeTop && len(key) >= len(bootstrapPrefix) && string(key[:len(bootstrapPrefix)]) == bootstrapPrefix {
		return FieldBootstrapOther
	}
	return FieldNone
}

// String gives the member's name, with the names of enclosing members.
func (f Field) String() string {
	if f == FieldNone || f >= fieldCount {
		return ""
	}
	if p := f.parent(); p != FieldNone {
		return p.String() + "." + fields[f].name
	}
	return fields[f].name
}

// Injected reports whether a client could use the member to aim an engine at a
// host, rank or request of its choice.
func (f Field) Injected() bool { return f < fieldCount && fields[f].injected }

// parent is the member whose object holds f, FieldNone at the top level.
func (f Field) parent() Field {
	sc := fields[f].scope
	if sc == scopeTop {
		return FieldNone
	}
	for p := FieldNone + 1; p < fieldCount; p++ {
		if fields[p].enter == sc {
			return p
		}
	}
	panic("BUG: scope without a parent field")
}
