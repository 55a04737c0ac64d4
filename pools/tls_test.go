package pools

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"penstock/configs"
)

func TestClientTLSTrustsTheConfiguredCA(t *testing.T) {
	t.Parallel()
	srv := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	dir := t.TempDir()
	ca, junk := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "junk.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	for path, data := range map[string][]byte{ca: block, junk: []byte("not a certificate")} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	conf, err := ClientTLS(configs.ClientTLS{CAFile: ca, ServerName: "example.com"})
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: conf}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()

	if conf, err := ClientTLS(configs.ClientTLS{}); conf != nil || err != nil {
		t.Errorf("an empty block: %v, %v", conf, err)
	}
	for name, c := range map[string]configs.ClientTLS{
		"missing CA": {CAFile: filepath.Join(dir, "none")}, "junk CA": {CAFile: junk}, "key missing": {CertFile: ca, KeyFile: junk},
	} {
		if _, err := ClientTLS(c); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
