package main

import (
	"errors"
	"strings"
	"testing"

	"penstock/bench/framing"
)

func TestPenstockRefusesWhatNginxAndHAProxyRefuse(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs four proxies for most of a minute")
	}
	c, err := measure()
	if errors.Is(err, errMissing) {
		t.Skip("needs nginx and HAProxy: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range c.lenient() {
		t.Error("nginx and HAProxy refuse it, Penstock does not: ", name)
	}
	for i := range c.cases {
		if why := c.verdicts[0][i].poisoned; why != "" {
			t.Errorf("%s/%s: the next client of Penstock was harmed: %s", c.cases[i].Class, c.cases[i].Name, why)
		}
	}
}

func TestReportShowsDifferences(t *testing.T) {
	t.Parallel()
	ok := verdict{outcome: framing.Outcome{Answers: []framing.Answer{{Status: 200}}}, forwarded: 1}
	no := verdict{outcome: framing.Outcome{Answers: []framing.Answer{{Status: 400}}}}
	c := &comparison{
		cases:    []framing.Case{{Class: "class", Name: "bad"}},
		subjects: []subject{{name: "Penstock"}, {name: "nginx"}, {name: "HAProxy"}},
		verdicts: [][]verdict{{ok}, {no}, {no}},
	}
	got := c.report()
	for _, want := range []string{"- class/bad\n", "| bad | refuse | **200 → 1** | 400 | 400 |\n", "| nginx |  | 1 | 0 | 1 of 1 |\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("report lacks %q:\n%s", want, got)
		}
	}
	c.verdicts[0][0] = no
	if got := c.report(); !strings.Contains(got, "both refuse it: nothing.") {
		t.Errorf("report of an agreement:\n%s", got)
	}
}
