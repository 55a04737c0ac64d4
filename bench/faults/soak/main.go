//go:build linux

// Command soak abuses a gateway for a long time and watches what it holds:
// clients that leave in every phase, that do not read, that trickle, that send
// nonsense, next to those that behave, in front of engines that die, hang and
// refuse. It prints a row of memory, descriptors, goroutines and leases every few
// seconds and exits with 1 when they do not stay flat or do not come back.
//
//	go run ./bench/faults/soak --for 10m
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"penstock/bench/faults"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("soak", flag.ContinueOnError)
	fs.SetOutput(stderr)
	o := faults.SoakOptions{Out: stdout}
	fs.DurationVar(&o.For, "for", 10*time.Minute, "how long the load runs")
	fs.DurationVar(&o.Every, "every", 5*time.Second, "between rows of the table")
	fs.IntVar(&o.Clients, "clients", 32, "clients at once")
	fs.Uint64Var(&o.Seed, "seed", 1, "of what the clients do")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	if err := faults.Soak(ctx, o); err != nil {
		_, _ = fmt.Fprintf(stderr, "soak: %v\n", err)
		return 1
	}
	return 0
}
