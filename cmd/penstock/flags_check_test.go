package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"penstock/configs"
)

func TestCheckCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("good.yaml", "pools:\n  - replicas: [{url: 'http://a:1'}]\n    secret: env:K\n")
	bad := file("bad.yaml", "listen: {adddress: ':1'}\npools: []\n")
	env := func(name string) string { return map[string]string{"K": "hidden-value"}[name] }
	f := func(args []string, code int, out, errOut string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if got := runCheck(args, &stdout, &stderr, env); got != code {
			t.Errorf("%q: exit %d, want %d\n%s%s", args, got, code, &stdout, &stderr)
		}
		if !strings.Contains(stdout.String(), out) || !strings.Contains(stderr.String(), errOut) {
			t.Errorf("%q: got stdout %q, stderr %q", args, &stdout, &stderr)
		}
		if strings.Contains(stdout.String()+stderr.String(), "hidden-value") {
			t.Errorf("%q: the secret is visible", args)
		}
		return stdout.String()
	}
	f([]string{"--config", good}, 0, good+": ok, 1 warnings\n", good+":3:13: warning: pools[0].secret: is not sent")
	f([]string{"--config", bad}, 2, "", bad+`:1:10: listen.adddress: unknown key; did you mean "address"?`+"\n"+bad+":2:8: pools: at least one pool is needed\n2 problems")
	f([]string{"--config", filepath.Join(dir, "none")}, 2, "", "cannot read configuration")
	f(nil, 2, "", "--config FILE is needed")
	f([]string{"--bogus"}, 2, "", "usage: penstock check")
	f([]string{"--config", good, "extra"}, 2, "", "unexpected argument")
	f([]string{"--help"}, 0, "usage: penstock check", "")
	if got := f([]string{"--schema"}, 0, "", ""); got != string(configs.Schema()) {
		t.Error("--schema does not print the schema")
	}
	printed := f([]string{"--config", good, "--print"}, 0, "secret: '***'", "")
	if _, err := configs.Parse([]byte(printed), configs.Options{AllowMasked: true}); err != nil {
		t.Errorf("--print: %v", err)
	}
	var r checkResult
	if err := json.Unmarshal([]byte(f([]string{"--config", bad, "--json"}, 2, "", "")), &r); err != nil {
		t.Fatal(err)
	}
	if r.OK || r.File != bad || len(r.Errors) != 2 || r.Errors[0].Line != 1 || r.Errors[0].Path != "listen.adddress" || r.Warnings == nil {
		t.Errorf("got %+v", r)
	}
}
