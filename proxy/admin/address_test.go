package admin

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	standard, err := NewAddressPolicy(nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := NewAddressPolicy([]string{"0.0.0.0/0", "::/0"})
	if err != nil {
		t.Fatal(err)
	}
	f := func(addr string, wantStandard, wantAll bool) {
		t.Helper()
		a := netip.MustParseAddr(addr)
		if got := standard.Check(a) == nil; got != wantStandard {
			t.Errorf("standard policy allows %s: %v", addr, got)
		}
		if got := all.Check(a) == nil; got != wantAll {
			t.Errorf("a policy of everything allows %s: %v", addr, got)
		}
	}
	f("127.0.0.1", true, true)
	f("127.8.8.8", true, true)
	f("::1", true, true)
	f("::ffff:127.0.0.1", true, true)
	f("10.1.2.3", true, true)
	f("172.16.0.1", true, true)
	f("172.32.0.1", false, true)
	f("192.168.1.1", true, true)
	f("fd12:3456::1", true, true)
	f("8.8.8.8", false, true)
	f("::ffff:8.8.8.8", false, true)
	f("2001:db8::1", false, true)
	f("64:ff9b::808:808", false, true)

	f("169.254.169.254", false, false)
	f("::ffff:169.254.169.254", false, false)
	f("::ffff:a9fe:a9fe", false, false)
	f("::a9fe:a9fe", false, false)
	f("64:ff9b::a9fe:a9fe", false, false)
	f("2002:a9fe:a9fe::", false, false)
	f("fe80::1", false, false)
	f("fe80::1%eth0", false, false)
	f("0.0.0.0", false, false)
	f("0.1.2.3", false, false)
	f("::ffff:0.0.0.0", false, false)
	f("::", false, false)
	f("224.0.0.1", false, false)
	f("ff02::1", false, false)
	f("255.255.255.255", false, false)
	f("fd00:ec2::254", false, false)
	f("100.100.100.200", false, false)
	f("168.63.129.16", false, false)
	if err := all.Check(netip.Addr{}); !errors.Is(err, ErrAddress) {
		t.Errorf("the zero address is allowed: %v", err)
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	policy, err := NewAddressPolicy(nil)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string][][]string{
		"gpu-1.internal":  {{"10.0.0.1", "fd00::1"}},
		"gpu_2":           {{"192.168.0.2"}},
		"metadata":        {{"169.254.169.254"}},
		"mapped":          {{"::ffff:169.254.169.254"}},
		"mixed":           {{"10.0.0.1", "8.8.8.8"}},
		"empty":           {{}},
		"gpu-1.internal.": {{"10.0.0.1"}},
	}
	f := func(raw, want string) {
		t.Helper()
		got, err := policy.CheckURL(t.Context(), raw, &fakeResolver{names: names})
		if got.URL != want || (err == nil) != (want != "") {
			t.Errorf("CheckURL(%q) = %q, %v; want %q", raw, got.URL, err, want)
		}
		if want != "" && len(got.Addrs) == 0 {
			t.Errorf("CheckURL(%q) returned no address", raw)
		}
	}
	f("http://127.0.0.1:8000", "http://127.0.0.1:8000")
	f("http://127.0.0.1:8000/", "http://127.0.0.1:8000")
	f("HTTP://127.0.0.1:80/v1/", "http://127.0.0.1/v1")
	f("https://10.0.0.1:443", "https://10.0.0.1")
	f("http://[::1]:8000", "http://[::1]:8000")
	f("http://[0:0:0:0:0:0:0:1]", "http://[::1]")
	f("http://[::ffff:127.0.0.1]:8000", "http://127.0.0.1:8000")
	f("http://[::ffff:7f00:1]:8000", "http://127.0.0.1:8000")
	f("http://GPU-1.internal:8000", "http://gpu-1.internal:8000")
	f("http://gpu-1.internal.:8000", "http://gpu-1.internal.:8000")
	f("http://gpu_2/base/path", "http://gpu_2/base/path")

	// Schemes, credentials and parts that are not an origin with a base path.
	f("", "")
	f("127.0.0.1:8000", "")
	f("ftp://127.0.0.1", "")
	f("file:///etc/passwd", "")
	f("grpc://127.0.0.1:1", "")
	f("http:127.0.0.1", "")
	f("http://", "")
	f("http://user@127.0.0.1", "")
	f("http://user:secret@127.0.0.1", "")
	f("http://127.0.0.1?x=1", "")
	f("http://127.0.0.1?", "")
	f("http://127.0.0.1#", "")
	f("http://127.0.0.1:", "")
	f("http://127.0.0.1:0", "")
	f("http://127.0.0.1:65536", "")
	f("http://127.0.0.1:http", "")
	f("http://127.0.0.1/../x", "")
	f("http://127.0.0.1/a//b", "")
	f("http://127.0.0.1/%2e%2e/x", "")
	f("http://127.0.0.1\r\nX: y", "")
	f("http://127.0.0.1\\@8.8.8.8/", "")
	f("http://[fe80::1%25eth0]", "")
	f("http://"+strings.Repeat("a", 3000), "")

	// Addresses in disguise: other parsers read these as IPv4.
	f("http://2130706433", "")
	f("http://0x7f000001", "")
	f("http://0x7f.1", "")
	f("http://0177.0.0.1", "")
	f("http://127.1", "")
	f("http://127.0.0.1.", "")
	f("http://1.2.3.08", "")
	f("http://foo.0x", "")
	f("http://１２７.0.0.1", "")
	f("http://169.254.169.254/latest/meta-data", "")
	f("http://[::ffff:169.254.169.254]", "")
	f("http://0.0.0.0:8000", "")
	f("http://[::]:8000", "")
	f("http://8.8.8.8", "")

	// Names.
	f("http://metadata", "")
	f("http://mapped", "")
	f("http://mixed", "")
	f("http://empty", "")
	f("http://unknown", "")
}

// A name may change its mind between the check and the dial. The dialer asks
// Check about the address that it is about to connect to.
func TestRebindingNameIsRefusedAtDial(t *testing.T) {
	t.Parallel()
	policy, err := NewAddressPolicy(nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &fakeResolver{names: map[string][][]string{"rebind": {{"10.0.0.1"}, {"169.254.169.254"}}}}
	first, err := policy.CheckURL(t.Context(), "http://rebind:8000", r)
	if err != nil || !slices.Equal(first.Addrs, []netip.Addr{netip.MustParseAddr("10.0.0.1")}) {
		t.Fatalf("first check: %+v, %v", first, err)
	}
	later, err := r.LookupNetIP(t.Context(), "ip", "rebind")
	if err != nil {
		t.Fatal(err)
	}
	if err := policy.Check(later[0]); !errors.Is(err, ErrAddress) {
		t.Errorf("the rebound address %s is allowed: %v", later[0], err)
	}
}

func TestRefusalsDoNotShowCredentials(t *testing.T) {
	t.Parallel()
	policy, err := NewAddressPolicy(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{"http://user:hunter2@127.0.0.1", "http://user:hunter2@127.0.0.1:x/%zz"} {
		_, err := policy.CheckURL(t.Context(), raw, &fakeResolver{})
		if !errors.Is(err, ErrAddress) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("CheckURL(%q): %v", raw, err)
		}
	}
}

func TestBadRangesAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"10.0.0.0", "10.0.0.0/33", "::ffff:10.0.0.0/104", "private"} {
		if _, err := NewAddressPolicy([]string{c}); err == nil {
			t.Errorf("range %q was accepted", c)
		}
	}
}

// The canonical form is a fixed point, and never holds more than an origin and
// a plain path.
func FuzzParseWorkerURL(f *testing.F) {
	for _, s := range []string{"http://a:80/b/", "https://[::ffff:1.2.3.4]:1", "http://0x7f.1", "http://u@h", "http://a/%2e", "http://a/!b", "http://A/@"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := parseWorkerURL(raw)
		if err != nil {
			return
		}
		text := u.String()
		again, err := parseWorkerURL(text)
		if err != nil || again.String() != text {
			t.Fatalf("%q became %q, then %v, %v", raw, text, again, err)
		}
		if strings.ContainsAny(text, "?#% \\\r\n") || strings.Contains(again.Host, "@") { // in a path it is plain
			t.Fatalf("%q became %q", raw, text)
		}
	})
}
