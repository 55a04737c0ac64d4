package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"penstock/configs"
)

// maxSeconds keeps a number of seconds inside a Duration.
const maxSeconds = math.MaxInt32

func setConfigPath(b *serveBuilder, v []string) error {
	if b.configPath != "" {
		return errors.New("may be given once")
	}
	b.configPath = v[0]
	if v[0] == "" {
		return errors.New("needs a file")
	}
	return nil
}

func setUpstreams(b *serveBuilder, v []string) error {
	if len(v) == 0 {
		return errors.New("needs at least one URL")
	}
	b.upstreams = append(b.upstreams, v...)
	return nil
}

// setWorkers leaves a non-nil list also for no worker, which the family allows.
func setWorkers(b *serveBuilder, v []string) error {
	b.workers = append(slices.Clip(b.workers), v...)
	if b.workers == nil {
		b.workers = []string{}
	}
	return nil
}

func setListen(b *serveBuilder, v []string) error {
	b.listen = &v[0]
	return nil
}

func setAdmin(b *serveBuilder, v []string) error {
	b.admin = &v[0]
	if v[0] == "off" {
		b.admin = new(string)
	}
	return nil
}

func setHandover(b *serveBuilder, v []string) error {
	b.handover = v[0]
	return nil
}

func setTakeover(b *serveBuilder, v []string) error    { return setBool(&b.takeover, v) }
func setPrintConfig(b *serveBuilder, v []string) error { return setBool(&b.print, v) }
func setHelp(b *serveBuilder, v []string) error        { return setBool(&b.help, v) }
func setDPAware(b *serveBuilder, v []string) error     { return setBool(&b.dpAware, v) }
func setNoProbes(b *serveBuilder, v []string) error    { return setBool(&b.pool.Health.Disabled, v) }
func setNothing(*serveBuilder, []string) error         { return nil }

func setBool(to *bool, v []string) error {
	*to = v[0] == "true"
	return nil
}

func setPolicy(b *serveBuilder, v []string) error {
	b.policy = v[0]
	return nil
}

func setLogLevel(b *serveBuilder, v []string) error {
	b.logLevel = strings.ToLower(v[0])
	return nil
}

func setLogJSON(b *serveBuilder, v []string) error {
	b.logFormat = configs.LogJSON
	if v[0] == "false" {
		b.logFormat = configs.LogText
	}
	return nil
}

func setHost(b *serveBuilder, v []string) error {
	b.host = strings.Trim(v[0], "[]")
	return nil
}

func setPort(b *serveBuilder, v []string) error           { return setPortText(&b.port, v[0]) }
func setPrometheusPort(b *serveBuilder, v []string) error { return setPortText(&b.promPort, v[0]) }
func setProbePort(b *serveBuilder, v []string) error      { return setPortText(&b.healthPort, v[0]) }

func setPortText(to *string, text string) error {
	n, err := number(text, 0, math.MaxUint16)
	*to = strconv.Itoa(n)
	return err
}

func setPrometheusHost(b *serveBuilder, v []string) error {
	b.promHost = strings.Trim(v[0], "[]")
	return nil
}

func setBackend(b *serveBuilder, v []string) error {
	kinds := []configs.Engine{configs.EngineSGLang, configs.EngineVLLM, configs.EngineTRTLLM, configs.EngineOpenAI}
	kind := configs.Engine(strings.ToLower(v[0]))
	if !slices.Contains(kinds, kind) {
		return fmt.Errorf("%q is not one of sglang, vllm, trtllm, openai", v[0])
	}
	b.pool.Engine = kind
	return nil
}

// setAPIKey does what the family does with its one key: clients must send it,
// and the workers receive it.
func setAPIKey(b *serveBuilder, v []string) error {
	key, err := configs.ParseSecret(v[0], b.options())
	if err != nil {
		return err
	}
	if !key.Set() {
		return errors.New("is empty")
	}
	b.cfg.Auth.Keys = []configs.APIKey{{ID: "api-key", Key: key}}
	b.pool.Secret = key
	return nil
}

func setModelAlias(b *serveBuilder, v []string) error {
	if len(v) == 0 {
		return errors.New("needs ALIAS=MODEL")
	}
	for _, pair := range v {
		alias, model, ok := strings.Cut(pair, "=")
		if !ok || alias == "" || model == "" {
			return fmt.Errorf("%q is not ALIAS=MODEL", pair)
		}
		i := slices.IndexFunc(b.pool.Models, func(m configs.Model) bool { return m.ID == model })
		if i < 0 {
			i = len(b.pool.Models)
			b.pool.Models = append(b.pool.Models, configs.Model{ID: model})
		}
		b.pool.Models[i].Aliases = append(b.pool.Models[i].Aliases, alias)
	}
	return nil
}

func setRanks(b *serveBuilder, v []string) error { return setCount(&b.ranks, v[0], 4096) }

func setTotal(b *serveBuilder, v []string) error  { return setSeconds(&b.pool.Timeouts.Total, v[0]) }
func setDrain(b *serveBuilder, v []string) error  { return setSeconds(&b.cfg.Shutdown.Drain, v[0]) }
func setSettle(b *serveBuilder, v []string) error { return setSeconds(&b.cfg.Shutdown.Settle, v[0]) }

func setMaxBody(b *serveBuilder, v []string) error {
	n, err := strconv.ParseInt(v[0], 10, 64)
	if err != nil || n <= 0 {
		return fmt.Errorf("%q is no number of bytes", v[0])
	}
	b.cfg.Listen.MaxBodyBytes, b.maxBodyGiven = configs.Size(n), true
	return nil
}

// setMaxInFlight: the family writes -1, and older versions 0, for no limit.
func setMaxInFlight(b *serveBuilder, v []string) error {
	n, err := number(v[0], -1, math.MaxInt32)
	b.cfg.Limits.MaxInFlight = max(n, 0)
	return err
}

func setRequestIDs(b *serveBuilder, v []string) error {
	if len(v) > 0 {
		b.cfg.Headers.RequestIDs = slices.Clone(v)
	}
	return nil
}

// setAttempts: what the family calls retries are tries, 1 being off.
func setAttempts(b *serveBuilder, v []string) error {
	n, err := number(v[0], 0, math.MaxInt32)
	b.pool.Retry.MaxAttempts = min(max(n, 1), 10)
	return err
}

func setNoRetries(b *serveBuilder, v []string) error {
	if v[0] == "true" {
		b.noRetries = true
	}
	return nil
}

func setNoBreaker(b *serveBuilder, v []string) error {
	if v[0] == "true" {
		b.noBreaker = true
	}
	return nil
}

func setBreakerFailures(b *serveBuilder, v []string) error {
	return setCount(&b.pool.Breaker.Failures, v[0], math.MaxInt32)
}

func setBreakerProbes(b *serveBuilder, v []string) error {
	return setCount(&b.pool.Breaker.HalfOpenRequests, v[0], 1000)
}

func setBreakerOpen(b *serveBuilder, v []string) error {
	return setSeconds(&b.pool.Breaker.Open, v[0])
}

func setFall(b *serveBuilder, v []string) error { return setCount(&b.pool.Health.Fall, v[0], 1000) }
func setRise(b *serveBuilder, v []string) error { return setCount(&b.pool.Health.Rise, v[0], 1000) }

func setProbeTimeout(b *serveBuilder, v []string) error {
	return setSeconds(&b.pool.Health.Timeout, v[0])
}

func setProbeInterval(b *serveBuilder, v []string) error {
	return setSeconds(&b.pool.Health.Interval, v[0])
}

func setProbePath(b *serveBuilder, v []string) error {
	b.pool.Health.Path = "/" + strings.TrimLeft(v[0], "/")
	return nil
}

func setLoadInterval(b *serveBuilder, v []string) error {
	return setSeconds(&b.pool.Load.Interval, v[0])
}

func setPrefixTokens(b *serveBuilder, v []string) error {
	n, err := number(v[0], 1, 1<<18)
	b.pool.PolicyOptions.PrefixBytes = n * bytesPerToken
	return err
}

func setLoadFactor(b *serveBuilder, v []string) error {
	f, err := strconv.ParseFloat(v[0], 64)
	if err != nil || math.IsNaN(f) || f < 1 || f > 100 {
		return fmt.Errorf("%q is no number from 1 to 100", v[0])
	}
	b.pool.PolicyOptions.LoadFactor = f
	return nil
}

func setCert(b *serveBuilder, v []string) error {
	b.serverTLS().CertFile = v[0]
	return nil
}

func setKey(b *serveBuilder, v []string) error {
	b.serverTLS().KeyFile = v[0]
	return nil
}

func (b *serveBuilder) serverTLS() *configs.ServerTLS {
	if b.cfg.Listen.TLS == nil {
		t := configs.DefaultServerTLS()
		b.cfg.Listen.TLS = &t
	}
	return b.cfg.Listen.TLS
}

func setClientCert(b *serveBuilder, v []string) error {
	b.pool.TLS.CertFile = v[0]
	return nil
}

func setClientKey(b *serveBuilder, v []string) error {
	b.pool.TLS.KeyFile = v[0]
	return nil
}

func setCA(b *serveBuilder, v []string) error {
	if len(v) > 1 || len(v) == 1 && b.pool.TLS.CAFile != "" {
		return errors.New("takes one file; put all certificates into it")
	}
	if len(v) == 1 {
		b.pool.TLS.CAFile = v[0]
	}
	return nil
}

func setTokenizerPath(b *serveBuilder, v []string) error {
	b.pool.Tokenizer.Path = v[0]
	return nil
}

func setModelPath(b *serveBuilder, v []string) error {
	b.modelPath = v[0]
	return nil
}

func setChatTemplate(b *serveBuilder, v []string) error {
	b.pool.Tokenizer.ChatTemplate = v[0]
	return nil
}

func setReasoningParser(b *serveBuilder, v []string) error {
	b.pool.Tokenizer.ReasoningParser = v[0]
	return nil
}

func setToolCallParser(b *serveBuilder, v []string) error {
	b.pool.Tokenizer.ToolCallParser = v[0]
	return nil
}

func setBlockSize(b *serveBuilder, v []string) error {
	return setCount(&b.pool.Tokenizer.BlockSize, v[0], 4096)
}

func setMemo(b *serveBuilder, v []string) error {
	n, err := strconv.ParseInt(v[0], 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is no number of bytes", v[0])
	}
	b.pool.Tokenizer.Memo = configs.Size(min(max(n, 1<<20), 64<<30))
	return nil
}

// setHistory refuses what would lose data silently.
func setHistory(_ *serveBuilder, v []string) error {
	if v[0] != "memory" && v[0] != "none" {
		return fmt.Errorf("%q is not supported: %s", v[0], whyHistory)
	}
	return nil
}

func setCount(to *int, text string, most int) error {
	n, err := number(text, 1, most)
	if err == nil {
		*to = n
	}
	return err
}

func setSeconds(to *configs.Duration, text string) error {
	n, err := number(text, 0, maxSeconds)
	if err == nil {
		*to = configs.Duration(time.Duration(n) * time.Second)
	}
	return err
}
