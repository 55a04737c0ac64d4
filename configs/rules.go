package configs

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
)

// rule is what one key accepts beyond its type. The validator and the schema
// read the same table.
type rule struct {
	bounded  bool
	min, max float64 // numbers; durations in seconds, sizes in bytes; max 0: none
	zero     bool    // 0 is allowed below min: it switches the thing off
	required bool    // the schema's word for "must be there"
	form     form
}

// form is a written shape of text, also of each element of a list.
type form struct {
	name    string
	pattern string // for the schema; "" when a pattern would only repeat a part
	check   func(string) error
}

func within(lo, hi float64) rule { return rule{bounded: true, min: lo, max: hi} }
func offOr(lo, hi float64) rule  { return rule{bounded: true, min: lo, max: hi, zero: true} }
func as(f form) rule             { return rule{form: f} }
func must(f form) rule           { return rule{form: f, required: true} }

const (
	day = 24 * 3600.0
	kib = 1 << 10
	gib = 1 << 30
)

// rules is keyed by the Go type and the key. Every number must be at least 0
// without being listed.
var rules = map[string]rule{
	"Listen.address":                must(formAddress),
	"Listen.header_timeout":         within(0.1, day),
	"Listen.body_min_rate":          within(0, gib),
	"Listen.write_timeout":          within(0.1, day),
	"Listen.user_timeout":           within(0, day),
	"Listen.max_header_bytes":       within(kib, 1<<20),
	"Listen.max_header_fields":      within(8, 1000),
	"Listen.max_body_bytes":         within(kib, 16*gib),
	"Listen.max_json_depth":         within(4, 10_000),
	"Listen.heartbeat":              offOr(1, day),
	"Listen.handover_socket":        as(formSocket),
	"ServerTLS.cert_file":           must(formText),
	"ServerTLS.key_file":            must(formText),
	"ServerTLS.reload_interval":     within(1, day),
	"Admin.address":                 as(formAddress),
	"Admin.external_metrics":        as(formAddress),
	"Admin.worker_allow":            as(formCIDR),
	"APIKey.id":                     must(formName),
	"APIKey.sha256":                 as(formDigest),
	"APIKey.expires":                as(formTime),
	"APIKey.models":                 as(formText),
	"Headers.request_allow":         as(formRequestHeader),
	"Headers.response_deny":         as(formResponseHeader),
	"Headers.request_ids":           as(formHeader),
	"Routes.passthrough":            as(formRoute),
	"Limits.stream_buffer":          within(4*kib, gib),
	"Limits.max_sessions":           within(0, 100e6),
	"Limits.max_metric_models":      within(1, 10_000),
	"Pool.name":                     must(formName),
	"Pool.panic_threshold":          within(0, 1),
	"Model.id":                      must(formText),
	"Model.aliases":                 as(formText),
	"Model.adapters":                as(formText),
	"Replica.id":                    as(formText),
	"Replica.url":                   must(formURL),
	"Replica.weight":                within(1, 1000),
	"Replica.ranks":                 within(1, 4096),
	"Replica.models":                as(formText),
	"Replica.health_url":            as(formURL),
	"PolicyOptions.session_headers": as(formHeader),
	"PolicyOptions.load_factor":     within(1, 100),
	"PolicyOptions.prefix_bytes":    within(1, 1<<20),
	"Timeouts.dial":                 within(0, 3600),
	"Connections.max_idle":          within(0, 1<<20),
	"Retry.max_attempts":            within(1, 10),
	"Retry.budget_percent":          within(0, 100),
	"Retry.budget_min":              within(0, 10_000),
	"Retry.on_status":               within(400, 599),
	"Breaker.half_open_requests":    within(1, 1000),
	"Breaker.open":                  within(0.1, day),
	"Health.path":                   as(formPath),
	"Health.interval":               offOr(0.1, day),
	"Health.timeout":                offOr(0.1, 3600),
	"Health.fall":                   within(1, 1000),
	"Health.rise":                   within(1, 1000),
	"Tokenizer.path":                as(formText),
	"Tokenizer.unicode":             within(14, 16),
	"Tokenizer.chat_template":       as(formText),
	"Tokenizer.tool_call_parser":    as(formVersion),
	"Tokenizer.reasoning_parser":    as(formVersion),
	"Tokenizer.harmony_date":        as(formDate),
	"Tokenizer.timezone":            must(formTimezone),
	"Tokenizer.engine_version":      as(formVersion),
	"Tokenizer.block_size":          within(1, 4096),
	"Tokenizer.memo":                offOr(1<<20, 64*gib),
	"Tokenizer.max_prompt":          within(kib, 16*gib),
	"Tokenizer.budget":              offOr(0.0001, 60),
	"Tokenizer.remote_timeout":      within(0.01, 60),
	"Tokenizer.remote_cache":        within(64*kib, 16*gib),
	"Tokenizer.parity_tolerance":    within(0, 19),
	"Load.interval":                 within(1, day),
	"Load.timeout":                  within(0.05, 3600),
	"Load.stale_after":              within(1, day),
}

var (
	formText           = form{"text", `^[^\x00-\x1f\x7f]+$`, checkText}
	formName           = form{"name", `^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`, checkName}
	formAddress        = form{"address", `^.*:[0-9]+$`, checkAddress}
	formURL            = form{"url", `^https?://[^/?#@]+(/[^?#]*)?$`, checkURL}
	formPath           = form{"path", `^/[^?#]*$`, checkPath}
	formRoute          = form{"route", `^/[^?#%]*$`, checkRoute}
	formCIDR           = form{"cidr", `^[0-9A-Fa-f:.]+/[0-9]+$`, checkCIDR}
	formHeader         = form{"header", "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", checkHeader}
	formRequestHeader  = form{"header", formHeader.pattern, checkRequestHeader}
	formResponseHeader = form{"header", formHeader.pattern, checkResponseHeader}
	formDigest         = form{"sha256", `^[0-9A-Fa-f]{64}$`, checkDigest}
	formTime           = form{"date-time", `^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9:.]+([Zz]|[+-][0-9]{2}:[0-9]{2})$`, checkTime}
	formTimezone       = form{"timezone", `^[A-Za-z0-9_+/-]+$`, checkTimezone}
	formDate           = form{"date", `^[0-9]{4}-[0-9]{2}-[0-9]{2}$`, checkDate}
	formVersion        = form{"version", `^[0-9A-Za-z][0-9A-Za-z.+_-]*$`, checkVersion}
	formSocket         = form{"socket", `^[/@].+$`, checkSocket}
)

func checkText(s string) error {
	for _, r := range s {
		if r < 0x20 || r == 0x7f {
			return errors.New("contains a control character")
		}
	}
	return nil
}

func checkName(s string) error {
	for i, r := range []byte(s) {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("._-", rune(r))) {
			return fmt.Errorf("%q may hold letters, digits, '.', '_' and '-', and starts with a letter or digit", clip(s))
		}
	}
	if len(s) > 63 {
		return errors.New("is longer than 63 characters")
	}
	return nil
}

func checkAddress(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return fmt.Errorf(`%q is no address; write host:port, ":8080" or "[::1]:8080"`, clip(s))
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("port %q is not a number from 0 to 65535", clip(port))
	}
	return checkHost(host)
}

// checkHost accepts names and IP addresses; a listener's may be empty.
func checkHost(host string) error {
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	for _, r := range []byte(host) {
		ok := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_'
		if !ok {
			return fmt.Errorf("%q is no host name or IP address", clip(host))
		}
	}
	return nil
}

func checkURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil && strings.Contains(s, "://"):
		return fmt.Errorf("%q is no URL", showURL(s))
	case err != nil || u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%q must start with http:// or https://", showURL(s))
	case u.User != nil:
		return errors.New("must not hold a user or password; the pool has a secret for that")
	case u.RawQuery != "" || u.ForceQuery:
		return errors.New("must not have a query")
	case u.Fragment != "" || strings.Contains(s, "#"):
		return errors.New("must not have a fragment")
	case u.Hostname() == "":
		return fmt.Errorf("%q names no host", showURL(s))
	}
	if p := u.Port(); p != "" || strings.HasSuffix(u.Host, ":") {
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("port %q is not a number from 1 to 65535", p)
		}
	}
	if err := checkHost(u.Hostname()); err != nil {
		return err
	}
	if u.Path == "" {
		return nil
	}
	return checkPath(u.EscapedPath())
}

// showURL leaves out what may be a password.
func showURL(s string) string {
	if at := strings.LastIndexByte(s, '@'); at >= 0 {
		return "..." + clip(s[at:])
	}
	return clip(s)
}

// checkPath accepts what can be joined to a base path without surprises.
func checkPath(s string) error {
	decoded, err := url.PathUnescape(s)
	switch {
	case !strings.HasPrefix(s, "/"):
		return fmt.Errorf("path %q must start with /", clip(s))
	case err != nil:
		return fmt.Errorf("path %q has a broken escape", clip(s))
	case strings.ContainsAny(s, "?#"):
		return fmt.Errorf("path %q must not have a query or fragment", clip(s))
	case checkText(decoded) != nil || strings.Contains(decoded, `\`):
		return fmt.Errorf("path %q has a character that servers read differently", clip(s))
	case path.Clean(decoded) != strings.TrimRight(decoded, "/") && decoded != "/":
		return fmt.Errorf("path %q must not hold . or .. or // (write %q)", clip(s), clip(path.Clean(decoded)))
	}
	return nil
}

func checkRoute(s string) error {
	exact, _ := strings.CutSuffix(s, "/*")
	if exact == "" && s == "/*" {
		return errors.New(`"/*" is every path; set passthrough_all for that`)
	}
	switch {
	case strings.Contains(exact, "*"):
		return fmt.Errorf("%q may have * only as a last part: /some/path/*", clip(s))
	case strings.Contains(exact, "%"):
		return fmt.Errorf("%q must be written without escapes", clip(s))
	}
	return checkPath(exact)
}

func checkCIDR(s string) error {
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return fmt.Errorf(`%q is no address range; write "10.0.0.0/8" or "192.0.2.7/32"`, clip(s))
	}
	if p.Masked() != p {
		return fmt.Errorf("%q has bits outside its mask; write %q", s, p.Masked().String())
	}
	return nil
}

func checkHeader(s string) error {
	const token = "!#$%&'*+-.^_`|~"
	for _, r := range []byte(s) {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(token, rune(r)) {
			return fmt.Errorf("%q is no header name", clip(s))
		}
	}
	return nil
}

// framingHeaders belong to one connection; passing or dropping them by
// configuration would break messages.
var framingHeaders = []string{
	"connection", "content-length", "content-type", "host", "keep-alive", "proxy-connection",
	"te", "trailer", "transfer-encoding", "upgrade", "expect",
}

func checkRequestHeader(s string) error {
	for _, h := range append([]string{"authorization", "proxy-authorization"}, framingHeaders...) {
		if strings.EqualFold(s, h) {
			return fmt.Errorf("%q is handled by the gateway itself", s)
		}
	}
	return checkHeader(s)
}

func checkResponseHeader(s string) error {
	for _, h := range framingHeaders {
		if strings.EqualFold(s, h) {
			return fmt.Errorf("%q is handled by the gateway itself", s)
		}
	}
	return checkHeader(s)
}

func checkDigest(s string) error {
	if b, err := hex.DecodeString(s); err != nil || len(b) != 32 {
		return errors.New("must be 64 hexadecimal digits, as `printf %s KEY | sha256sum` prints them")
	}
	return nil
}

func checkTime(s string) error {
	if _, err := time.Parse(time.RFC3339, s); err != nil {
		return fmt.Errorf(`%q is no RFC 3339 time such as "2027-01-31T00:00:00Z"`, clip(s))
	}
	return nil
}

// checkTimezone looks the name up among the zones that the program carries or the
// system has. "Local" would be the gateway's zone, not the engines'.
func checkTimezone(s string) error {
	if _, err := time.LoadLocation(s); err != nil || s == "Local" {
		return fmt.Errorf(`%q is no time zone; write a name such as "UTC" or "Europe/Berlin"`, clip(s))
	}
	return nil
}

func checkDate(s string) error {
	if _, err := time.Parse(time.DateOnly, s); err != nil {
		return fmt.Errorf("%q is no date such as 2026-01-31", clip(s))
	}
	return nil
}

func checkVersion(s string) error {
	for i, r := range []byte(s) {
		ok := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !ok && (i == 0 || !strings.ContainsRune(".+_-", rune(r))) {
			return fmt.Errorf("%q may hold letters, digits, '.', '+', '_' and '-', and starts with a letter or digit", clip(s))
		}
	}
	return nil
}

// checkSocket: the kernel's sun_path holds 107 bytes and a terminator.
func checkSocket(s string) error {
	if !strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "@") {
		return errors.New(`must be an absolute path, or "@name" for an abstract socket`)
	}
	if len(s) > 107 {
		return errors.New("is longer than the 107 bytes of a Unix socket path")
	}
	return checkText(s)
}
