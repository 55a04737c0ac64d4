package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"penstock/configs"
)

// serveOptions is what `serve` was asked to do.
type serveOptions struct {
	Config      *configs.Config
	ConfigPath  string   // "" without a file
	Warnings    []string // to be logged once at start
	Takeover    bool     // start with the sockets of a running gateway
	PrintConfig bool     // print the effective configuration and exit

	args []string
}

// reloader returns what reads the configuration again for a reload, flags that
// override the file included; nil when it did not come from a file.
func (o *serveOptions) reloader(getenv func(string) string) func(context.Context) (*configs.Config, error) {
	if o.ConfigPath == "" {
		return nil
	}
	args := slices.Clone(o.args)
	return func(context.Context) (*configs.Config, error) {
		again, err := parseServe(args, getenv)
		if err != nil {
			return nil, err
		}
		return again.Config, nil
	}
}

// errHelp is returned when help was asked for instead of a gateway.
var errHelp = errors.New("penstock: help asked for")

// usageError is a wrong command line or configuration: exit code 2.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// parseServe reads the arguments of `serve`. It returns errHelp when help was
// asked for, and a usageError with everything that is wrong.
func parseServe(args []string, getenv func(string) string) (*serveOptions, error) {
	b := newServeBuilder(getenv)
	calls, err := readFlags(args)
	if err != nil {
		return nil, err
	}
	if err := b.apply(calls); err != nil {
		return nil, err
	}
	if b.help {
		return nil, errHelp
	}
	o, err := b.finish()
	if err != nil {
		return nil, err
	}
	o.args = args
	return o, nil
}

// flagCall is one flag as it was given.
type flagCall struct {
	spec   *serveFlag
	given  string // as typed, for messages
	values []string
}

// readFlags splits arguments into flags and their values. It knows no effect
// and stops at nothing, so that every mistake is reported.
func readFlags(args []string) ([]flagCall, error) {
	known := map[string]*serveFlag{}
	for i := range serveFlags {
		for _, name := range serveFlags[i].names {
			known[name] = &serveFlags[i]
		}
	}
	var calls []flagCall
	var wrong []error
	for len(args) > 0 {
		given := args[0]
		args = args[1:]
		name, inline, hasInline := strings.Cut(strings.TrimLeft(given, "-"), "=")
		spec := known[strings.ReplaceAll(name, "_", "-")]
		switch {
		case !isFlag(given):
			wrong = append(wrong, fmt.Errorf("unexpected argument %q%s", given, hintArgument(given)))
			continue
		case spec == nil:
			wrong = append(wrong, fmt.Errorf("unknown flag %s%s", flagName(given), hintFlag(name)))
			// What follows is most likely its value; complaining about it
			// again would hide the real mistake.
			_, args = takeValues(args)
			continue
		}
		call := flagCall{spec: spec, given: flagName(given)}
		if hasInline {
			call.values = append(call.values, inline)
		}
		args = call.take(args, hasInline)
		if err := call.check(); err != nil {
			wrong = append(wrong, err)
			continue
		}
		calls = append(calls, call)
	}
	if len(wrong) > 0 {
		return nil, usageError{errors.Join(wrong...)}
	}
	return calls, nil
}

// take moves the values that belong to the flag out of args.
func (c *flagCall) take(args []string, hasInline bool) []string {
	switch {
	case c.spec.many && (!hasInline || c.spec.effect == flagRefused):
		more, rest := takeValues(args)
		c.values = append(c.values, more...)
		return rest
	case c.spec.value == "" && !hasInline:
		c.values = []string{"true"}
	case c.spec.value != "" && !hasInline && len(args) > 0 && !strings.HasPrefix(args[0], "--"):
		c.values = args[:1] // also "-1"
		return args[1:]
	}
	return args
}

func (c *flagCall) check() error {
	switch {
	case c.spec.value == "" && !slices.Contains([]string{"true", "false"}, c.values[0]):
		return fmt.Errorf("%s is a switch; %q is neither true nor false", c.given, c.values[0])
	case c.spec.value != "" && !c.spec.many && len(c.values) == 0:
		return fmt.Errorf("%s needs a value: %s", c.given, c.spec.value)
	}
	return nil
}

// takeValues takes arguments up to the next flag.
func takeValues(args []string) (values, rest []string) {
	n := slices.IndexFunc(args, isFlag)
	if n < 0 {
		n = len(args)
	}
	return args[:n], args[n:]
}

func isFlag(arg string) bool {
	return strings.HasPrefix(arg, "--") && len(arg) > 2 || arg == "-h"
}

// flagName is the flag without a value, which may be a secret.
func flagName(given string) string {
	name, _, _ := strings.Cut(given, "=")
	return name
}

func hintArgument(arg string) string {
	switch {
	case strings.Contains(arg, "://"):
		return "; did you mean --upstream " + arg + "?"
	case strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml"):
		return "; did you mean --config " + arg + "?"
	}
	return ""
}

func hintFlag(name string) string {
	var names []string
	for _, f := range serveFlags {
		names = append(names, f.names...)
	}
	if near := configs.Nearest(strings.ReplaceAll(name, "_", "-"), names); near != "" {
		return "; did you mean --" + near + "?"
	}
	return ""
}

// serveUsage is the text of `penstock serve --help`.
func serveUsage() string {
	var b strings.Builder
	b.WriteString("usage: penstock serve --config FILE\n" +
		"       penstock serve --upstream URL...\n" +
		"       penstock serve --worker-urls URL... [flags of the SGLang and vLLM routers]\n\n")
	group := func(title string, keep func(serveFlag) bool) {
		fmt.Fprintf(&b, "%s\n", title)
		for _, f := range serveFlags {
			if keep(f) {
				fmt.Fprintf(&b, "  %-42s %s\n", f.heading(), f.does)
			}
		}
		b.WriteString("\n")
	}
	group("Flags:", func(f serveFlag) bool { return f.own || f.file })
	group("Flags of the router family:", func(f serveFlag) bool { return !f.own && !f.file && f.effect == flagMapped })
	group("Accepted without effect, because:", func(f serveFlag) bool { return f.effect == flagIgnored })
	group("Refused, because:", func(f serveFlag) bool { return f.effect == flagRefused })
	b.WriteString("Policies:\n")
	for _, p := range familyPolicies {
		fmt.Fprintf(&b, "  %-42s %s\n", p.name, p.describe())
	}
	return b.String()
}

// heading is the flag with all its spellings and its value.
func (f serveFlag) heading() string {
	var names []string
	for _, name := range f.names {
		if len(name) == 1 {
			names = append(names, "-"+name)
		} else {
			names = append(names, "--"+name)
		}
	}
	return strings.TrimSpace(strings.Join(names, ", ") + " " + f.value)
}

func (p familyPolicy) describe() string {
	switch {
	case p.name == p.policy:
		return "the same"
	case p.differs == "":
		return p.policy
	default:
		return p.policy + ": " + p.differs
	}
}
