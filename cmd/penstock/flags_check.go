package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"penstock/configs"
)

const checkUsage = `usage: penstock check --config FILE [--json] [--print]
       penstock check --schema

Reads a configuration and prints every problem with its line. Exit code 0: it
can be used; 2: it cannot. Warnings do not change the code.

  --config FILE  the file; "-" reads standard input
  --json         print one JSON object instead of lines
  --print        print the effective configuration too: every default filled in,
                 secrets as ***
  --schema       print the JSON Schema of the file
`

// checkResult is the stable output of `check --json`.
type checkResult struct {
	File      string            `json:"file"`
	OK        bool              `json:"ok"`
	Errors    []configs.Problem `json:"errors"`
	Warnings  []configs.Problem `json:"warnings"`
	Effective string            `json:"effective,omitempty"` // YAML, with --print
}

// runCheck is the subcommand `check`.
func runCheck(args []string, stdout, stderr io.Writer, getenv func(string) string) int {
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	path := flags.String("config", "", "")
	asJSON := flags.Bool("json", false, "")
	show := flags.Bool("print", false, "")
	schema := flags.Bool("schema", false, "")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return printed(stdout, checkUsage)
	case err == nil && flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case err == nil && *schema:
		return printed(stdout, string(configs.Schema()))
	case err == nil && *path == "":
		err = errors.New("--config FILE is needed")
	}
	if err != nil {
		fmt.Fprintf(stderr, "penstock check: %s\n%s", err, checkUsage)
		return 2
	}
	return checkFile(*path, *asJSON, *show, stdout, stderr, getenv)
}

func checkFile(path string, asJSON, show bool, stdout, stderr io.Writer, getenv func(string) string) int {
	data, err := readConfig(path)
	if err != nil {
		fmt.Fprintf(stderr, "penstock check: cannot read configuration: %s\n", err)
		return 2
	}
	r := configs.Check(data, configs.Options{Getenv: getenv})
	if asJSON {
		result := checkResult{
			File: path, OK: r.Config != nil,
			Errors: append([]configs.Problem{}, r.Errors...), Warnings: append([]configs.Problem{}, r.Warnings...),
		}
		if show && result.OK {
			result.Effective = string(r.Config.Effective())
		}
		err = printJSON(stdout, result)
	} else {
		err = printReport(stdout, stderr, path, r, show)
	}
	switch {
	case r.Config == nil:
		return 2
	case err != nil:
		return 1
	}
	return 0
}

func readConfig(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(path)
}

// printReport writes problems to stderr, so that --print leaves stdout to the
// configuration alone.
func printReport(stdout, stderr io.Writer, path string, r configs.Report, show bool) error {
	for _, p := range r.Errors {
		fmt.Fprintf(stderr, "%s:%s\n", path, p)
	}
	for _, p := range r.Warnings {
		fmt.Fprintf(stderr, "%s:%d:%d: warning: %s\n", path, p.Line, p.Column, configs.Problem{Path: p.Path, Message: p.Message})
	}
	switch {
	case r.Config == nil:
		_, err := fmt.Fprintf(stderr, "%d problems, %d warnings\n", len(r.Errors), len(r.Warnings))
		return err
	case show:
		_, err := stdout.Write(r.Config.Effective())
		return err
	default:
		_, err := fmt.Fprintf(stdout, "%s: ok, %d warnings\n", path, len(r.Warnings))
		return err
	}
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func printed(w io.Writer, text string) int {
	if _, err := io.WriteString(w, text); err != nil {
		return 1
	}
	return 0
}
