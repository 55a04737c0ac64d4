package pools

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"penstock/configs"
)

// ClientTLS reads the files of a pool's TLS block; nil when the block says
// nothing, which means the system's roots.
func ClientTLS(c configs.ClientTLS) (*tls.Config, error) {
	if c == (configs.ClientTLS{}) {
		return nil, nil
	}
	out := &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: c.ServerName,
		InsecureSkipVerify: c.InsecureSkipVerify, //nolint:gosec // the operator's explicit choice
		ClientSessionCache: tls.NewLRUClientSessionCache(0),
	}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("cannot read ca_file: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("cannot use ca_file %q: no certificate in it", c.CAFile)
		}
	}
	if c.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("cannot load client certificate: %w", err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}
