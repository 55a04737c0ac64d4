package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"penstock/configs"
	"penstock/pools"
	"penstock/proxy"
	"penstock/routing/keying"
)

const operationsPage = "../../docs/operations.md"

// descriptions is a Registerer that notes what is registered and scrapes
// nothing, so that metrics without a value yet are seen too.
type descriptions struct{ all []*prometheus.Desc }

var _ prometheus.Registerer = (*descriptions)(nil)

// Register implements prometheus.Registerer.
func (d *descriptions) Register(c prometheus.Collector) error {
	ch := make(chan *prometheus.Desc)
	go func() {
		c.Describe(ch)
		close(ch)
	}()
	for desc := range ch {
		d.all = append(d.all, desc)
	}
	return nil
}

// MustRegister implements prometheus.Registerer.
func (d *descriptions) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		_ = d.Register(c) // does not fail
	}
}

// Unregister implements prometheus.Registerer.
func (d *descriptions) Unregister(prometheus.Collector) bool { return false }

// descText is how the library prints a description, which is the only way to
// ask it for its name.
var descText = regexp.MustCompile(`^Desc\{fqName: "([^"]+)", help: "(.*)", constLabels: \{([^}]*)\}, variableLabels: \{([^}]*)\}\}$`)

// registered returns the labels of every metric of a whole gateway by name.
func registered(t *testing.T) map[string][]string {
	t.Helper()
	cfg, err := configs.Parse([]byte("pools: [{replicas: [{url: http://127.0.0.1:1}]}]"), configs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fleet, err := pools.NewFleet(cfg.Pools, pools.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	var d descriptions
	server, err := proxy.New(cfg, proxy.Deps{Fleet: fleet, Log: slog.New(slog.DiscardHandler), Metrics: &d})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	if _, err := keying.New(keying.Deps{Metrics: &d}); err != nil {
		t.Fatal(err)
	}
	newAppMetrics(&d, &app{})
	d.MustRegister(pools.NewCollector(fleet))
	names := map[string][]string{}
	for _, desc := range d.all {
		m := descText.FindStringSubmatch(desc.String())
		if m == nil {
			t.Fatalf("cannot read description %s", desc)
		}
		labels := strings.FieldsFunc(m[4], func(r rune) bool { return r == ',' || r == ' ' })
		for one := range strings.SplitSeq(m[3], ",") {
			if name, _, ok := strings.Cut(one, "="); ok {
				labels = append(labels, name)
			}
		}
		names[m[1]] = labels
	}
	return names
}

// documented returns the table rows of the page by the name in their first cell.
func documented(t *testing.T, cell *regexp.Regexp) map[string]string {
	t.Helper()
	page, err := os.ReadFile(operationsPage)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(page)) {
		if m := cell.FindStringSubmatch(line); m != nil {
			rows[m[1]] = strings.TrimSpace(line)
		}
	}
	return rows
}

func TestEveryMetricIsDocumentedWithItsLabels(t *testing.T) {
	t.Parallel()
	rows := documented(t, regexp.MustCompile("^\\| `(penstock_[a-z_]+)` \\| (?:counter|gauge|histogram) \\|"))
	names := registered(t)
	for name, labels := range names {
		row, ok := rows[name]
		if !ok {
			t.Errorf("%s is not in %s", name, operationsPage)
			continue
		}
		var told []string
		if cells := strings.Split(row, "|"); len(cells) > 3 {
			told = strings.FieldsFunc(cells[3], func(r rune) bool { return strings.ContainsRune("`, ", r) })
		}
		slices.Sort(told)
		slices.Sort(labels)
		if !slices.Equal(told, labels) {
			t.Errorf("%s has labels %v, the page says %v", name, labels, told)
		}
	}
	for name := range rows {
		if _, ok := names[name]; !ok {
			t.Errorf("%s is documented and does not exist", name)
		}
	}
}

func TestEveryErrorCodeIsDocumented(t *testing.T) {
	t.Parallel()
	f, err := parser.ParseFile(token.NewFileSet(), "../../proxy/errors.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && strings.HasPrefix(text, "penstock_") {
				codes[text] = true
			}
		}
		return true
	})
	if len(codes) == 0 {
		t.Fatal("found no codes")
	}
	rows := documented(t, regexp.MustCompile("^\\| `(penstock_[a-z_]+)` \\| [0-9]"))
	for code := range codes {
		if rows[code] == "" {
			t.Errorf("%s is not in %s", code, operationsPage)
		}
	}
	for code := range rows {
		if !codes[code] {
			t.Errorf("%s is documented and does not exist", code)
		}
	}
}
