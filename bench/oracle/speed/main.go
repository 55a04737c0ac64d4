// Command speed times our tokenizers and the official ones on the same documents, one
// core each:
//
//	go run ./bench/oracle/speed --out bench/RESULTS.md
//
// Steady speed is what a gateway sees: caches warmed on 60 % of a text, then one pass
// over the unseen 40 % in documents of 16 KB. The floors are printed with what was
// measured; they are no test, because the machine decides too.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"penstock/bench/oracle"
	"penstock/bench/oracle/corpus"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options is what the command line says.
type options struct {
	out     string
	models  []string // nil for all
	rounds  int
	scripts string
	peers   bool
}

func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	o := options{}
	flags := flag.NewFlagSet("speed", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.out, "out", "", "file of results whose section is replaced")
	models := flags.String("models", "", "names of models, with commas; all when empty")
	flags.IntVar(&o.rounds, "rounds", 7, "rounds to take the median of")
	flags.StringVar(&o.scripts, "scripts", "bench/oracle", "folder of speed_peer.py")
	flags.BoolVar(&o.peers, "peers", true, "time the official tokenizers too")
	if flags.Parse(args) != nil || o.rounds < 1 {
		return 2
	}
	if *models != "" {
		o.models = strings.Split(*models, ",")
	}
	if err := measure(ctx, o, args, getenv, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "speed:", err)
		return 1
	}
	return 0
}

func measure(ctx context.Context, o options, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	cache, err := oracle.Find(getenv)
	if err != nil {
		return err
	}
	models, err := cache.Models()
	if err != nil {
		return err
	}
	if o.models != nil {
		models = slices.DeleteFunc(models, func(m oracle.Model) bool { return !slices.Contains(o.models, m.Name) })
	}
	texts, err := loadTexts(cache)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "speed")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := writeDocuments(dir, texts); err != nil {
		return err
	}
	// One goroutine, one thread, one core: the collector has nothing to share with.
	runtime.GOMAXPROCS(1)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var results []result
	for _, m := range models {
		fmt.Fprintf(stderr, "speed: %s\n", m.Name)
		r, err := measureModel(ctx, o, cache, m, texts, dir)
		if err != nil {
			return fmt.Errorf("cannot time %s: %w", m.Name, err)
		}
		results = append(results, r)
	}
	return section.Publish(o.out, document(o, args, results), stdout)
}

// text is one kind, cut into documents: the first ones warm the caches.
type text struct {
	kind         corpus.Kind
	warm, unseen [][]byte
}

// Documents of 16 KB, 60 % of which are for warming.
const (
	documentBytes = 16 << 10
	warmShare     = 0.6
)

func loadTexts(cache oracle.Cache) ([]text, error) {
	sources := corpus.Sources{Packages: filepath.Join(cache.Dir, "sources"), Go: runtime.GOROOT()} //nolint:staticcheck // go run starts this
	var texts []text
	for _, kind := range corpus.Kinds() {
		all, err := sources.Text(kind)
		if err != nil {
			return nil, err
		}
		docs := corpus.Documents(all, documentBytes)
		warm := int(float64(len(docs)) * warmShare)
		texts = append(texts, text{kind, docs[:warm], docs[warm:]})
	}
	return texts, nil
}

// writeDocuments leaves the same documents for the peers.
func writeDocuments(dir string, texts []text) error {
	for _, t := range texts {
		for name, docs := range map[string][][]byte{"warm": t.warm, "unseen": t.unseen} {
			set := corpus.Set{Texts: docs}
			if err := set.Write(filepath.Join(dir, string(t.kind)+"."+name)); err != nil {
				return err
			}
		}
	}
	return nil
}
