package admin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
)

// ErrAddress is wrapped by every refusal of an AddressPolicy.
var ErrAddress = errors.New("admin: the address is not allowed")

// defaultAllow is where workers may live unless the configuration says
// otherwise: this host and private networks.
var defaultAllow = []string{
	"127.0.0.0/8", "::1/128",
	"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16",
	"fc00::/7",
}

// neverAllow cannot be allowed: nobody runs an engine there, and the metadata
// services of clouds do answer there. Link-local, multicast and unspecified
// addresses are refused by kind.
var neverAllow = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("255.255.255.255/32"),
	netip.MustParsePrefix("100.100.100.200/32"), // Alibaba Cloud metadata
	netip.MustParsePrefix("168.63.129.16/32"),   // Azure platform service
	netip.MustParsePrefix("fd00:ec2::/32"),      // EC2 services, inside the private range
	netip.MustParsePrefix("fd20:ce::254/128"),   // Google Cloud metadata, likewise
}

// embedding lists the IPv6 ranges that carry an IPv4 address, and the byte at
// which it starts: the kernel or a router may unwrap it.
var embedding = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, // NAT64
	{netip.MustParsePrefix("2002::/16"), 2},     // 6to4
	{netip.MustParsePrefix("::/96"), 12},        // IPv4-compatible; ::1 and :: are sorted out before
}

// Resolver finds the addresses of a name; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

var _ Resolver = (*net.Resolver)(nil)

// AddressPolicy says which addresses may be registered as workers at run time.
// It is immutable and safe for concurrent use.
type AddressPolicy struct {
	allow []netip.Prefix
}

// NewAddressPolicy allows the given CIDRs; none means loopback and private
// ranges. Link-local, multicast, unspecified and cloud metadata addresses stay
// refused whatever is given.
func NewAddressPolicy(cidrs []string) (*AddressPolicy, error) {
	if len(cidrs) == 0 {
		cidrs = defaultAllow
	}
	p := &AddressPolicy{allow: make([]netip.Prefix, 0, len(cidrs))}
	for _, c := range cidrs {
		prefix, err := netip.ParsePrefix(c)
		if err != nil {
			return nil, fmt.Errorf("cannot allow workers from %q: %w", c, err)
		}
		if prefix.Addr().Is4In6() {
			return nil, fmt.Errorf("cannot allow workers from %q: write it as an IPv4 range", c)
		}
		p.allow = append(p.allow, prefix.Masked())
	}
	return p, nil
}

// Check refuses an address outside the allowed ranges. A dialer must ask again
// right before it connects: a name may resolve differently by then.
func (p *AddressPolicy) Check(a netip.Addr) error {
	a = a.WithZone("").Unmap()
	if never(a) {
		return fmt.Errorf("cannot use address %s: %w", a, ErrAddress)
	}
	for _, prefix := range p.allow {
		if prefix.Contains(a) {
			return nil
		}
	}
	return fmt.Errorf("cannot use address %s, it is in no allowed range: %w", a, ErrAddress)
}

func never(a netip.Addr) bool {
	if !a.IsValid() || a.IsUnspecified() || a.IsMulticast() || a.IsLinkLocalUnicast() {
		return true
	}
	for _, prefix := range neverAllow {
		if prefix.Contains(a) {
			return true
		}
	}
	if a.IsLoopback() {
		return false
	}
	for _, e := range embedding {
		if e.prefix.Contains(a) {
			b := a.As16()
			inner, _ := netip.AddrFromSlice(b[e.at : e.at+4])
			return never(inner)
		}
	}
	return false
}

// Checked is a worker URL that passed, in the one form that equal workers
// share, and the addresses that it was checked by.
type Checked struct {
	URL   string // lower-case scheme and host, no default port, no trailing slash
	Addrs []netip.Addr
}

// CheckURL checks the URL of a worker: http or https, no credentials, query or
// fragment, a host name or a canonical IP address, and every address that the
// name resolves to allowed. One bad address among several refuses the worker,
// since nobody can say which one a dialer will take.
func (p *AddressPolicy) CheckURL(ctx context.Context, raw string, r Resolver) (Checked, error) {
	u, err := parseWorkerURL(raw)
	if err != nil {
		return Checked{}, fmt.Errorf("cannot use worker URL: %w: %w", err, ErrAddress)
	}
	host := u.Hostname()
	addrs, err := resolve(ctx, host, r)
	if err != nil {
		return Checked{}, err
	}
	for _, a := range addrs {
		if err := p.Check(a); err != nil {
			return Checked{}, fmt.Errorf("cannot use worker host %q: %w", host, err)
		}
	}
	return Checked{URL: u.String(), Addrs: addrs}, nil
}

func resolve(ctx context.Context, host string, r Resolver) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	addrs, err := r.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("cannot resolve worker host %q: %w", host, err)
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("cannot resolve worker host %q: it has no address: %w", host, ErrAddress)
	}
	return addrs, nil
}

// parseWorkerURL returns the canonical form. Its errors do not show the URL,
// which may hold credentials.
func parseWorkerURL(raw string) (*url.URL, error) {
	if len(raw) > 2048 {
		return nil, errors.New("it is longer than 2048 bytes")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("it is not a URL")
	}
	host := canonicalHost(u.Hostname())
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the scheme must be http or https")
	case u.User != nil:
		return nil, errors.New("it must not hold credentials")
	case u.Opaque != "" || host == "":
		return nil, errors.New("it has no host")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(raw, "#"):
		return nil, errors.New("it must not have a query or fragment")
	case !plainHost(host):
		return nil, errors.New("the host is neither a name nor a canonical IP address")
	case u.RawPath != "" || !plainPath(u.Path):
		return nil, errors.New("the base path is not plain")
	}
	port := u.Port()
	if n, err := strconv.ParseUint(port, 10, 16); strings.HasSuffix(u.Host, ":") || port != "" && (err != nil || n == 0) {
		return nil, errors.New("the port is not valid")
	}
	if u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		port = ""
	}
	return &url.URL{Scheme: u.Scheme, Host: joinHost(host, port), Path: strings.TrimRight(u.Path, "/")}, nil
}

// canonicalHost writes an address in its shortest form, an IPv4-mapped one as
// IPv4, and a name in lower case.
func canonicalHost(host string) string {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().String()
	}
	return strings.ToLower(host)
}

func joinHost(host, port string) string {
	if port != "" {
		return net.JoinHostPort(host, port)
	}
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// plainHost accepts an IP address in canonical notation, or a name of letters,
// digits, '-', '_' and '.' whose last label is not a number. Others read
// "2130706433", "0x7f.1" or "127.1" as addresses, so that what was checked
// would not be what is dialled.
func plainHost(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Zone() == ""
	}
	if strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
		return false
	}
	name := strings.TrimSuffix(host, ".")
	last := name[strings.LastIndexByte(name, '.')+1:]
	_, err := strconv.ParseUint(last, 0, 64)
	return last != "" && len(host) <= 253 && err != nil && strings.Trim(last, "0123456789") != "" && !strings.HasPrefix(last, "0x")
}

// plainPath accepts a base path that reads the same decoded, encoded and
// cleaned: no "..", no "//", no escapes.
func plainPath(p string) bool {
	p = strings.TrimSuffix(p, "/")
	return p == "" || path.Clean(p) == p && (&url.URL{Path: p}).EscapedPath() == p
}
