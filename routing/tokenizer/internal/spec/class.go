package spec

import (
	"slices"
	"strings"
)

// What transformers' AutoTokenizer (5.19, models/auto/tokenization_auto.py) does with
// a tokenizer.json depends on a class. The generic class takes the file as it is;
// classes of a model build a tokenizer of their own from the file's vocabulary and
// merges, and ignore the rest of it.
const (
	generic = "TokenizersBackend"
	mistral = "MistralCommonBackend"
)

// registered lists the class that AutoTokenizer has for a model_type; the types whose
// class no language or embedding model needs are left out.
func registered() map[string]string {
	return map[string]string{
		generic: `EvollaModel aria bigbird_pegasus canary flex_olmo glm glm4 glm4_moe glm4_moe_lite glm4v
			glm4v_moe glm_image glmasr got_ocr2 gpt_bigcode granite granitemoe granitemoehybrid
			granitemoeshared kimi_k25 kimi_linear kosmos-2 mimo_v2_flash minicpmv4_6 minicpmv4_7
			nystromformer olmo2 olmo3 olmo_hybrid pegasus_x persimmon pix2struct stablelm umt5
			xlm-roberta-xl molmo2 ernie4_5 deepseek_ocr cohere_asr deepseek_vl_hybrid chameleon janus
			arctic molmo ernie4_5_moe deepseek_ocr2 step3p5 camembertv2-base opencua step3_vl phi3_v
			deepseek_v3 nemotron deepseek_v2 nvfp4 vipllava modernbert-decoder phi3 modernbert phimoe
			paddleocr_vl llava_next minicpmv deepseek_vl_v2 smolvlm deepseek_v32 openvla fuyu
			hyperclovax chatlm internlm2 minicpm3 llava deepseek_v4 h2ovl_chat deepseek_vl jamba
			hyperclovax_vlm minimax_m2`,
		mistral: "ministral ministral3 mistral mistral3 mixtral pixtral voxtral voxtral_realtime",
		"Qwen2Tokenizer": `audioflamingo3 colqwen2 cosmos3_omni fun_asr_nano hunyuan_vl internvl ovis2
			qianfan_ocr qwen2 qwen2_5_omni qwen2_5_vl qwen2_audio qwen2_moe qwen2_vl qwen3 qwen3_asr
			qwen3_moe qwen3_next qwen3_omni_moe qwen3_vl qwen3_vl_moe lighton_ocr vibevoice`,
		"Qwen3_5Tokenizer": "qwen3_5 qwen3_5_moe qwen3_5_moe_text qwen3_5_text qwen4_exp",
		"GemmaTokenizer": `diffusion_gemma gemma gemma2 gemma3 gemma3_text gemma3n gemma3n_text
			recurrent_gemma shieldgemma2 t5gemma zaya`,
		"GPT2Tokenizer": `blip-2 codegen dbrx emu3 gpt2 gpt_neo gptj hyperclovax_vision_v2 instructblip
			instructblipvideo jais2 opt phi starcoder2`,
		"GPTNeoXTokenizer": "falcon_mamba gpt_neox mamba mamba2 mpt olmo olmoe rwkv xlstm",
		"CohereTokenizer":  "aya_vision cohere cohere2",
		"LlamaTokenizer":   "idefics idefics2",
		"BertTokenizer": `align bark bert blip bros chinese_clip convbert distilbert electra ernie flava
			git grounding-dino layoutlm megatron-bert mm-grounding-dino nezha nomic_bert qdqbert realm
			retribert squeezebert tvp vilt visual_bert`,
		"RobertaTokenizer": `bart bridgetower clap data2vec-text ibert lilt longformer mega mra roberta
			roberta-prelayernorm`,
		"XLMRobertaTokenizer": "gte jina_embeddings_v3 metaclip_2 trocr xlm-roberta xmod",
		"T5Tokenizer":         "mt5 musicgen musicgen_melody switch_transformers t5",
	}
}

// wrongHubClass lists the model types whose registered class counts more than the one
// that tokenizer_config.json names, as far as they have one of their own.
const wrongHubClass = "hyperclovax_vision_v2 qwen2 qwen3_5 qwen3_5_moe qwen3_5_moe_text qwen4_exp"

// ownClasses lists the classes that rebuild the tokenizer in a way that is not known
// here.
const ownClasses = `Albert Barthez Bartpho Bart BertGeneration BertJapanese Bertweet BigBird BioGpt
	BlenderbotSmall Blenderbot ByT5 CLIP CTRL Camembert Canine Clvp CodeLlama CodeGen ConvBert CpmAnt Cpm
	DPRContextEncoder DPRQuestionEncoder DPRReader Deberta DebertaV2 Dia DistilBert Electra Esm Esmc FNet
	FSMT Flaubert Funnel GPTNeoXJapanese GPTSw3
	Herbert LED Lasr LayoutLMv2 LayoutLMv3 LayoutXLM Luke Lxmert M2M100 MBart50 MBart MLuke MPNet Marian
	MarkupLM Mgpstr MobileBert Mvp MyT5 Nllb Nougat OpenAIGPT PLBart Pegasus Perceiver Phobert ProphetNet
	Reformer RemBert RoCBert RoFormer SeamlessM4T Siglip2 Siglip Speech2Text SpeechT5 Splinter SqueezeBert T5 Tapas
	Tipsv2 Udop VideoPrism Vits Whisper XGLM XLM XLNet`

// classOf is the class that AutoTokenizer arrives at.
func classOf(modelType, hub string) string {
	hub = strings.TrimSuffix(hub, "Fast")
	own := ""
	for class, types := range registered() {
		if modelType != "" && slices.Contains(strings.Fields(types), modelType) {
			own = class
		}
	}
	switch {
	case hub == "" && own == "":
		return generic
	case hub == "" && own == mistral:
		return generic // without tekken.json
	case hub == "":
		return own
	case own == "" || own == hub:
		return known(hub)
	case own == generic || own == mistral:
		return generic
	case slices.Contains(strings.Fields(wrongHubClass), modelType):
		return own
	}
	return known(hub)
}

// known is the class of a name; a name that transformers does not have means the
// generic one.
func known(name string) string {
	for class := range registered() {
		if class == name && class != mistral {
			return name
		}
	}
	if slices.Contains(strings.Fields(ownClasses), strings.TrimSuffix(name, "Tokenizer")) {
		return name
	}
	return generic
}

// exactScores says whether a class takes the scores of a Unigram vocabulary through
// Python, which reads numbers to the last place.
func exactScores(class string) bool { return class == "XLMRobertaTokenizer" }
