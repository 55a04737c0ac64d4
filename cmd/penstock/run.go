package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"

	"penstock/bench/demo"
	"penstock/bench/enginesim"
	"penstock/bench/loadgen"
)

// version is set at build time from the repository.
var version = "dev"

// Exit codes of every subcommand.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

const usageText = `penstock: a gateway for LLM inference engines

usage: penstock <command> [flags]

  serve     the gateway: --upstream URL..., or --config FILE
  check     validate a configuration file
  demo      simulated engines, the gateway and live traffic, nothing to install
  sim       one simulated engine
  load      open-loop load on a live endpoint
  tokenize  token ids of a text or a chat, to compare with an engine's
  version   print the version

Each command takes --help.
`

// run dispatches the subcommand. It is main without the process around it.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usageText)
		return exitUsage
	}
	rest := args[1:]
	switch args[0] {
	case "serve":
		return runServe(ctx, rest, getenv, stdout, stderr)
	case "check":
		return runCheck(rest, stdout, stderr, getenv)
	case "demo":
		return demo.Main(ctx, startForDemo, rest, stdout, stderr)
	case "sim":
		return enginesim.Main(ctx, rest, stdout, stderr)
	case "load":
		return loadgen.Main(ctx, rest, stdout, stderr)
	case "tokenize":
		return runTokenize(rest, os.Stdin, stdout, stderr)
	case "version", "--version":
		fmt.Fprintf(stdout, "penstock %s (%s)\n", version, runtime.Version())
		return exitDone
	case "help", "--help", "-h":
		fmt.Fprint(stdout, usageText)
		return exitDone
	}
	fmt.Fprintf(stderr, "penstock: unknown command %q\n\n%s", args[0], usageText)
	return exitUsage
}
