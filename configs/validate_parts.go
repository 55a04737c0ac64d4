package configs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
)

func (c *Config) checkListeners(f *findings) {
	used := map[string]string{}
	for _, l := range []struct{ path, address string }{
		{"listen.address", c.Listen.Address},
		{"admin.address", c.Admin.Address},
		{"admin.external_metrics", c.Admin.ExternalMetrics},
	} {
		if l.address == "" || strings.HasSuffix(l.address, ":0") {
			continue
		}
		if first, taken := used[l.address]; taken {
			f.errorf(l.path, "%q is already the address of %s", l.address, first)
		}
		used[l.address] = l.path
	}
	open := c.Admin.Address != "" && !isLoopback(c.Admin.Address)
	guarded := c.Admin.Token.Set() || c.Admin.TLS != nil && c.Admin.TLS.ClientCAFile != ""
	if open && !guarded {
		f.warnf("admin.address", "everybody who reaches %s may administer the gateway: set admin.token or admin.tls.client_ca_file", c.Admin.Address)
	}
	if c.Admin.WorkerAPIOnData && len(c.Auth.Keys) == 0 && !isLoopback(c.Listen.Address) {
		f.warnf("admin.worker_api_on_data", "everybody who reaches %s may add and remove replicas: set auth.keys", c.Listen.Address)
	}
	if c.Limits.MaxBodyMemory > 0 && c.Limits.MaxBodyMemory < c.Listen.MaxBodyBytes {
		f.errorf("limits.max_body_memory", "%s is below listen.max_body_bytes %s: such a body could never be taken", c.Limits.MaxBodyMemory, c.Listen.MaxBodyBytes)
	}
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func (c *Config) checkAuth(f *findings) {
	digests := map[string]string{}
	first := map[string]int{}
	for i, k := range c.Auth.Keys {
		path := fmt.Sprintf("auth.keys[%d]", i)
		switch {
		case k.SHA256 == "" && !k.Key.Set():
			f.errorf(path, "needs sha256 or key")
		case k.SHA256 != "" && k.Key.Set():
			f.errorf(path, "has both sha256 and key; one of them")
		default:
			digest := k.Digest()
			if at, dup := digests[digest]; dup {
				f.errorf(path, "is the same key as %s", at)
			}
			digests[digest] = path
		}
		if k.Key.Set() && len(k.Key.Reveal()) < 16 {
			f.warnf(path+".key", "is shorter than 16 characters and can be guessed")
		}
		if t, err := time.Parse(time.RFC3339, k.Expires); err == nil && !t.After(f.now) {
			f.warnf(path+".expires", "expired on %s: the key is refused", k.Expires)
		}
		if j, rotated := first[k.ID]; rotated {
			o := c.Auth.Keys[j]
			if o.Tenant != k.Tenant || o.Trusted != k.Trusted || !slices.Equal(o.Models, k.Models) {
				f.warnf(path, "shares id %q with auth.keys[%d] but not its tenant, trust or models", k.ID, j)
			}
		} else if k.ID != "" {
			first[k.ID] = i
		}
	}
}

// Digest returns the key's SHA-256 in lower-case hex, from whichever of the two
// forms was given.
func (k APIKey) Digest() string {
	if k.SHA256 != "" {
		return strings.ToLower(k.SHA256)
	}
	sum := sha256.Sum256([]byte(k.Key.Reveal()))
	return hex.EncodeToString(sum[:])
}

func (c *Config) checkRoutes(f *findings) {
	seen := map[string]bool{}
	for i, p := range c.Routes.Passthrough {
		if seen[p] {
			f.errorf(fmt.Sprintf("routes.passthrough[%d]", i), "%q is listed twice", clip(p))
		}
		seen[p] = true
	}
}

func (c *Config) checkPools(f *findings) {
	if len(c.Pools) == 0 {
		f.errorf("pools", "at least one pool is needed")
		return
	}
	names, ids, models := map[string]bool{}, map[string]string{}, map[string]string{}
	var defaults []string
	for i := range c.Pools {
		p, path := &c.Pools[i], fmt.Sprintf("pools[%d]", i)
		if p.Name != "" && names[p.Name] {
			f.errorf(path+".name", "two pools are called %q", p.Name)
		}
		names[p.Name] = true
		if p.Default {
			defaults = append(defaults, path)
		}
		p.checkModels(f, path, models)
		p.checkReplicas(f, path, ids)
		p.checkPolicy(f, path)
		p.checkTimes(f, path)
		p.Tokenizer.check(f, path+".tokenizer")
		p.checkSecurity(f, path, c)
	}
	switch {
	case len(defaults) == 0:
		f.errorf("pools", "one pool must be the default one: set default: true")
	case len(defaults) > 1:
		f.errorf(defaults[1]+".default", "%s is the default pool already", defaults[0])
	}
}

// checkModels: a name that clients use leads to one pool.
func (p *Pool) checkModels(f *findings, path string, owner map[string]string) {
	claim := func(at, name string) {
		if name == "" {
			return
		}
		if first, taken := owner[name]; taken {
			f.errorf(at, "%q is already %s", clip(name), first)
			return
		}
		owner[name] = at
	}
	for i, m := range p.Models {
		at := fmt.Sprintf("%s.models[%d]", path, i)
		claim(at+".id", m.ID)
		for j, name := range m.Aliases {
			claim(fmt.Sprintf("%s.aliases[%d]", at, j), name)
		}
		for j, name := range m.Adapters {
			claim(fmt.Sprintf("%s.adapters[%d]", at, j), name)
		}
	}
}

func (p *Pool) checkReplicas(f *findings, path string, ids map[string]string) {
	if len(p.Replicas) == 0 {
		f.warnf(path+".replicas", "the pool is empty until replicas are registered at run time")
	}
	served := map[string]bool{}
	for _, m := range p.Models {
		served[m.ID] = true
		for _, name := range m.Adapters {
			served[name] = true
		}
	}
	urls := map[string]string{}
	for i, r := range p.Replicas {
		at := fmt.Sprintf("%s.replicas[%d]", path, i)
		if first, dup := urls[r.URL]; dup && r.URL != "" {
			f.errorf(at+".url", "is the URL of %s already; one replica with ranks is one entry", first)
		} else if first, dup := ids[r.ID]; dup && r.ID != "" {
			f.errorf(at+".id", "%q is the id of %s already", clip(r.ID), first)
		}
		urls[r.URL], ids[r.ID] = at, at
		for j, name := range r.Models {
			if len(served) > 0 && !served[name] {
				f.errorf(fmt.Sprintf("%s.models[%d]", at, j), "%q is no model or adapter of the pool", clip(name))
			}
		}
	}
}

func (p *Pool) checkPolicy(f *findings, path string) {
	if p.Policy == PolicySession && len(p.PolicyOptions.SessionHeaders) == 0 {
		f.errorf(path+".policy_options.session_headers", "policy session needs at least one header")
	}
	seen := map[int]bool{}
	for i, status := range p.Retry.OnStatus {
		if seen[status] {
			f.errorf(fmt.Sprintf("%s.retry.on_status[%d]", path, i), "%d is listed twice", status)
		}
		seen[status] = true
	}
}

func (p *Pool) checkTimes(f *findings, path string) {
	t := p.Timeouts
	if t.Total > 0 && t.FirstByte > t.Total {
		f.warnf(path+".timeouts.first_byte", "%s is never reached: timeouts.total is %s", t.FirstByte, t.Total)
	}
	if t.Total > 0 && t.Gap > t.Total {
		f.warnf(path+".timeouts.gap", "%s is never reached: timeouts.total is %s", t.Gap, t.Total)
	}
	if limit := EngineDefaultsOf(p.Engine).IdleClose; limit > 0 && (p.Connections.IdleTimeout >= limit || p.Connections.IdleTimeout == 0) {
		f.warnf(path+".connections.idle_timeout", "%s is not below the %s after which the engine closes: requests will meet closed connections", p.Connections.IdleTimeout, limit)
	}
	h := p.Health.For(p.Engine)
	if h.Timeout > h.Interval {
		f.errorf(path+".health.timeout", "%s is longer than health.interval %s: probes would overlap", h.Timeout, h.Interval)
	}
	if p.Engine == EngineSGLang && h.Timeout < seconds(2) {
		f.warnf(path+".health.timeout", "%s is short for SGLang, whose probe takes at least 1s", h.Timeout)
	}
	if p.Load.Timeout > p.Load.Interval {
		f.errorf(path+".load.timeout", "%s is longer than load.interval %s: readings would overlap", p.Load.Timeout, p.Load.Interval)
	}
	if p.Load.StaleAfter < p.Load.Interval {
		f.errorf(path+".load.stale_after", "%s is below load.interval %s: every reading would be stale", p.Load.StaleAfter, p.Load.Interval)
	}
}

func (p *Pool) checkSecurity(f *findings, path string, c *Config) {
	if (p.TLS.CertFile == "") != (p.TLS.KeyFile == "") {
		f.errorf(path+".tls", "cert_file and key_file belong together")
	}
	if p.TLS.InsecureSkipVerify {
		f.warnf(path+".tls.insecure_skip_verify", "the engines' certificates are not checked")
	}
	if p.Secret.Set() && len(c.Auth.Keys) == 0 {
		f.warnf(path+".secret", "is not sent: without auth.keys the client's own Authorization is forwarded")
	}
	https := slices.ContainsFunc(p.Replicas, func(r Replica) bool { return strings.HasPrefix(r.URL, "https:") })
	if p.TLS != (ClientTLS{}) && !https {
		f.warnf(path+".tls", "has no effect: no replica has an https URL")
	}
}
