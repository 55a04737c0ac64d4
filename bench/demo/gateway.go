package demo

import (
	"context"
	"fmt"
	"strings"

	"penstock/configs"
)

// StartGateway starts a gateway with cfg in this process. stop drains it,
// waits for its goroutines, and is called once.
type StartGateway func(ctx context.Context, cfg *configs.Config) (dataURL, adminURL string, stop func() error, err error)

// sessionHeader carries the conversation of a request.
const sessionHeader = "x-session-id"

// gatewayConfig is the configuration in front of the engines at urls, through
// the parser of configuration files so that every default is in force.
func gatewayConfig(policy string, urls []string) (*configs.Config, error) {
	var b strings.Builder
	b.WriteString(`listen: {address: "127.0.0.1:0"}
admin: {address: "127.0.0.1:0"}
log: {access: false, level: warn}
shutdown: {settle: 0s, drain: 5s}
pools:
- name: demo
  engine: vllm
  slow_start: 0s
`)
	fmt.Fprintf(&b, "  models: [{id: %s}]\n", model)
	fmt.Fprintf(&b, "  policy: %s\n", policy)
	fmt.Fprintf(&b, "  policy_options: {session_headers: [%s]}\n", sessionHeader)
	b.WriteString("  replicas:\n")
	for i, u := range urls {
		fmt.Fprintf(&b, "  - {id: engine-%d, url: %q}\n", i, u)
	}
	cfg, err := configs.Parse([]byte(b.String()), configs.Options{})
	if err != nil {
		return nil, fmt.Errorf("cannot configure the gateway: %w", err)
	}
	return cfg, nil
}
