package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"penstock/configs"
)

// Defaults of the router family, which hold when its flags start the gateway.
const (
	familyHost           = "0.0.0.0"
	familyPort           = "30000"
	familyMaxBody        = configs.Size(512 << 20)
	familyPrometheusHost = "0.0.0.0"
	familyPrometheusPort = "29000"
	familyPolicyName     = "cache_aware"
	bytesPerToken        = 4 // of English text, as the engines' tokenizers have it
)

// serveBuilder collects what the flags say until the configuration can be made.
type serveBuilder struct {
	getenv func(string) string
	cfg    configs.Config
	pool   configs.Pool

	configPath            string
	upstreams             []string
	workers               []string
	family                bool // a flag that only the family has was given
	host, port            string
	listen, admin         *string // overrides
	handover              string
	policy                string
	logLevel              string
	logFormat             configs.LogFormat
	promHost, promPort    string
	dpAware               bool
	ranks                 int // 0: not given
	healthPort            string
	modelPath             string
	maxBodyGiven          bool
	noRetries, noBreaker  bool
	takeover, print, help bool

	ignored  []string // reasons in order of their first flag
	because  map[string][]string
	warnings []string
}

func newServeBuilder(getenv func(string) string) *serveBuilder {
	return &serveBuilder{
		getenv:  getenv,
		cfg:     configs.Default(),
		pool:    configs.DefaultPool(),
		because: map[string][]string{},
	}
}

func (b *serveBuilder) options() configs.Options { return configs.Options{Getenv: b.getenv} }

// apply lets every flag take its effect and reports all that cannot.
func (b *serveBuilder) apply(calls []flagCall) error {
	var wrong []error
	refused := map[string][]string{}
	var reasons []string
	withFile := slices.ContainsFunc(calls, func(c flagCall) bool { return c.spec.names[0] == "config" })
	for _, c := range calls {
		switch {
		case c.spec.value == "" && c.values[0] == "false" && c.spec.effect != flagMapped:
			// Switched off: nothing asked for.
		case c.spec.effect == flagRefused:
			if refused[c.spec.does] == nil {
				reasons = append(reasons, c.spec.does)
			}
			refused[c.spec.does] = appendNew(refused[c.spec.does], c.given)
		case withFile && !c.spec.file:
			wrong = append(wrong, fmt.Errorf("%s and --config exclude each other: say it in the file", c.given))
		case c.spec.effect == flagIgnored:
			b.ignore(c)
		default:
			if err := c.spec.set(b, c.values); err != nil {
				wrong = append(wrong, fmt.Errorf("%s: %w", c.given, err))
			}
		}
		b.family = b.family || !c.spec.own && !c.spec.shared
	}
	for _, why := range reasons {
		wrong = append(wrong, fmt.Errorf("%s: %s", strings.Join(refused[why], ", "), why))
	}
	if len(wrong) > 0 && !b.help {
		return usageError{errors.Join(wrong...)}
	}
	return nil
}

// ignore remembers a flag without effect, to warn once for each reason.
func (b *serveBuilder) ignore(c flagCall) {
	if b.because[c.spec.does] == nil {
		b.ignored = append(b.ignored, c.spec.does)
	}
	b.because[c.spec.does] = appendNew(b.because[c.spec.does], c.given)
}

func appendNew(list []string, item string) []string {
	if slices.Contains(list, item) {
		return list
	}
	return append(list, item)
}

func (b *serveBuilder) warnf(format string, args ...any) {
	b.warnings = append(b.warnings, fmt.Sprintf(format, args...))
}

// finish makes the configuration from the one source that was given.
func (b *serveBuilder) finish() (*serveOptions, error) {
	for _, why := range b.ignored {
		b.warnf("%s: no effect here: %s", strings.Join(b.because[why], ", "), why)
	}
	c, err := b.source()
	if err != nil {
		return nil, err
	}
	if err := b.override(c); err != nil {
		return nil, err
	}
	c.Complete()
	warned, err := c.Validate()
	if err != nil {
		return nil, usageError{fmt.Errorf("cannot use these flags: %w", err)}
	}
	for _, p := range warned {
		if !b.hasWarning(p.Message) {
			b.warnings = append(b.warnings, p.String())
		}
	}
	if b.takeover && c.Listen.HandoverSocket == "" {
		return nil, usagef("--takeover needs listen.handover_socket or --handover-socket: the socket of the running gateway")
	}
	return &serveOptions{Config: c, ConfigPath: b.configPath, Warnings: b.warnings, Takeover: b.takeover, PrintConfig: b.print}, nil
}

// hasWarning tells that the file's own warning, which has a line, said it.
func (b *serveBuilder) hasWarning(message string) bool {
	return slices.ContainsFunc(b.warnings, func(w string) bool { return strings.HasSuffix(w, message) })
}

func (b *serveBuilder) source() (*configs.Config, error) {
	switch {
	case b.configPath != "" && (b.upstreams != nil || b.workers != nil):
		return nil, usagef("--config, --upstream and --worker-urls exclude each other")
	case b.upstreams != nil && b.workers != nil:
		return nil, usagef("--upstream and --worker-urls exclude each other")
	case b.configPath != "":
		return b.fromFile()
	case b.upstreams != nil:
		if err := checkScheme("--upstream", b.upstreams); err != nil {
			return nil, err
		}
		b.cfg.Routes.PassthroughAll = true
		return b.fromFlags(b.upstreams)
	case b.family:
		if err := checkScheme("--worker-urls", b.workers); err != nil {
			return nil, err
		}
		b.host, b.port = cmp.Or(b.host, familyHost), cmp.Or(b.port, familyPort)
		b.policy = cmp.Or(b.policy, familyPolicyName)
		b.cfg.Admin.WorkerAPIOnData = true
		if !b.maxBodyGiven {
			b.cfg.Listen.MaxBodyBytes = familyMaxBody
		}
		return b.fromFlags(b.workers)
	}
	return nil, usagef("nothing to serve: give --config FILE, --upstream URL or --worker-urls URL")
}

func checkScheme(name string, urls []string) error {
	for _, u := range urls {
		if strings.HasPrefix(u, "grpc://") || strings.HasPrefix(u, "grpcs://") {
			return usagef("%s %s: gRPC engines are not supported; give the engine's HTTP address", name, u)
		}
	}
	return nil
}

func (b *serveBuilder) fromFile() (*configs.Config, error) {
	c, warned, err := configs.LoadFileWith(b.configPath, b.options())
	if err != nil {
		return nil, usageError{err}
	}
	for _, p := range warned {
		b.warnings = append(b.warnings, b.configPath+":"+p.String())
	}
	return c, nil
}

// fromFlags builds the one pool of a gateway without a file.
func (b *serveBuilder) fromFlags(urls []string) (*configs.Config, error) {
	p := b.pool
	p.Name, p.Default = "default", true
	for _, u := range urls {
		r := configs.DefaultReplica()
		r.URL = u
		r.Ranks = max(b.ranks, 1)
		r.HealthURL = b.healthURL(u, p)
		p.Replicas = append(p.Replicas, r)
	}
	if b.dpAware && b.ranks == 0 {
		b.warnf("--dp-aware: the ranks are not asked from the engine; say --intra-node-data-parallel-size N")
	}
	if b.noRetries {
		p.Retry.MaxAttempts = 1
	}
	if b.noBreaker {
		p.Breaker.Failures = 0
	}
	b.readModelPath(&p.Tokenizer)
	p = consistent(p)
	if l := &b.cfg.Limits; l.MaxBodyMemory < b.cfg.Listen.MaxBodyBytes {
		l.MaxBodyMemory = b.cfg.Listen.MaxBodyBytes
	}
	b.cfg.Pools = []configs.Pool{p}
	c := b.cfg
	return &c, nil
}

// readModelPath takes the tokenizer of a model that lies here. The family also fetches
// models by name, which is not done.
func (b *serveBuilder) readModelPath(t *configs.Tokenizer) {
	if b.modelPath == "" || t.Path != "" {
		return
	}
	if info, err := os.Stat(b.modelPath); err != nil || !info.IsDir() {
		b.warnf("--model-path %s: no effect here: it is no folder, and models are not fetched; give --tokenizer-path", b.modelPath)
		return
	}
	t.Path = b.modelPath
}

// consistent fits the times that no flag set to those that one did: the family
// sets them one by one, against other defaults.
func consistent(p configs.Pool) configs.Pool {
	if t := &p.Timeouts; t.Total > 0 {
		t.FirstByte, t.Gap = min(t.FirstByte, t.Total), min(t.Gap, t.Total)
	}
	if d := configs.EngineDefaultsOf(p.Engine); p.Health.Interval == 0 && p.Health.Timeout > d.HealthInterval {
		p.Health.Interval = p.Health.Timeout
	}
	if p.Load.Interval > p.Load.StaleAfter {
		p.Load.StaleAfter = 3 * p.Load.Interval
	}
	return p
}

// healthURL puts the probe of one worker on the port of --health-check-port.
func (b *serveBuilder) healthURL(worker string, p configs.Pool) string {
	u, err := url.Parse(worker)
	if b.healthPort == "" || err != nil {
		return ""
	}
	u.Host = net.JoinHostPort(u.Hostname(), b.healthPort)
	return u.JoinPath(cmp.Or(p.Health.For(p.Engine).Path, "/health")).String()
}

// override lets what may stand beside a file have the last word.
func (b *serveBuilder) override(c *configs.Config) error {
	if b.host != "" || b.port != "" {
		host, port, err := net.SplitHostPort(c.Listen.Address)
		if err != nil {
			return usagef("cannot combine --host and --port with listen.address %q", c.Listen.Address)
		}
		c.Listen.Address = net.JoinHostPort(cmp.Or(b.host, host), cmp.Or(b.port, port))
	}
	if b.listen != nil {
		c.Listen.Address = *b.listen
	}
	if b.admin != nil {
		c.Admin.Address = *b.admin
	}
	c.Listen.HandoverSocket = cmp.Or(b.handover, c.Listen.HandoverSocket)
	c.Log.Level = configs.LogLevel(cmp.Or(b.logLevel, string(c.Log.Level)))
	c.Log.Format = cmp.Or(b.logFormat, c.Log.Format)
	b.overrideMetrics(c)
	return b.overridePolicy(c)
}

// overrideMetrics leaves the extra listener away when the admin one has its
// address already: it serves the same metrics.
func (b *serveBuilder) overrideMetrics(c *configs.Config) {
	if b.promHost == "" && b.promPort == "" {
		return
	}
	address := net.JoinHostPort(cmp.Or(b.promHost, familyPrometheusHost), cmp.Or(b.promPort, familyPrometheusPort))
	if address != c.Admin.Address {
		c.Admin.ExternalMetrics = address
	}
}

func (b *serveBuilder) overridePolicy(c *configs.Config) error {
	if b.policy == "" {
		return nil
	}
	name := strings.ReplaceAll(strings.ToLower(b.policy), "-", "_")
	i := slices.IndexFunc(familyPolicies, func(p familyPolicy) bool { return p.name == name })
	if i < 0 {
		var names []string
		for _, p := range familyPolicies {
			names = append(names, p.name)
		}
		return usagef("--policy: %q is not one of %s", b.policy, strings.Join(names, ", "))
	}
	found := familyPolicies[i]
	if found.differs != "" {
		b.warnf("policy %s is served by %s: %s", found.name, found.policy, found.differs)
	}
	for i := range c.Pools {
		c.Pools[i].Policy = configs.Policy(found.policy)
		if found.byText {
			c.Pools[i].PolicyOptions.SessionHeaders = nil
		}
	}
	return nil
}

// number reads a whole number from lo to hi.
func number(text string, lo, hi int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < lo || n > hi {
		return 0, fmt.Errorf("%q is no whole number from %d to %d", text, lo, hi)
	}
	return n, nil
}
