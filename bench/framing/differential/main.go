package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"penstock/bench/framing"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("differential", flag.ContinueOnError)
	flags.SetOutput(stderr)
	update := flags.String("update", "", "write the report to this file instead of standard output")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	c, err := measure()
	if err != nil {
		fmt.Fprintln(stderr, "differential:", err)
		return 1
	}
	if *update == "" {
		fmt.Fprint(stdout, c.report())
	} else if err := os.WriteFile(*update, []byte(c.report()), 0o644); err != nil {
		fmt.Fprintln(stderr, "differential: cannot write report:", err)
		return 1
	}
	if names := c.lenient(); len(names) > 0 {
		fmt.Fprintln(stderr, "differential: Penstock lets pass what nginx and HAProxy refuse:", strings.Join(names, ", "))
		return 1
	}
	return 0
}

func measure() (*comparison, error) {
	list, err := subjects()
	if err != nil {
		return nil, err
	}
	cases, err := framing.Corpus()
	if err != nil {
		return nil, err
	}
	return compare(list, cases)
}
