package main

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"penstock/configs"
	"penstock/proxy/scan"
	"penstock/routing/chattemplate"
)

// tokenizeAPIs are the requests whose prompts `penstock tokenize` makes.
var tokenizeAPIs = map[string]struct {
	body   scan.Kind
	prompt chattemplate.Kind
}{
	"chat":        {scan.KindChat, chattemplate.KindChat},
	"completions": {scan.KindCompletions, chattemplate.KindCompletions},
	"responses":   {scan.KindResponses, chattemplate.KindResponses},
	"messages":    {scan.KindMessages, chattemplate.KindMessages},
}

// profileFlags are those keys of a pool's tokenizer that say how its engines make
// prompts.
func (c *tokenizeCall) profileFlags(flags *flag.FlagSet) {
	flags.StringVar((*string)(&c.cfg.ContentFormat), "content-format", string(c.cfg.ContentFormat), "")
	flags.StringVar((*string)(&c.cfg.ToolProjection), "tool-projection", string(c.cfg.ToolProjection), "")
	flags.StringVar((*string)(&c.cfg.Mode), "mode", string(c.cfg.Mode), "")
	flags.StringVar(&c.cfg.ToolCallParser, "tool-call-parser", "", "")
	flags.StringVar(&c.cfg.ReasoningParser, "reasoning-parser", "", "")
	flags.StringVar(&c.cfg.HarmonyDate, "harmony-date", "", "")
}

func (c *tokenizeCall) checkProfile() error {
	one := func(name, value string, of ...string) error {
		if slices.Contains(of, value) {
			return nil
		}
		return fmt.Errorf("--%s %q is none of %s", name, value, strings.Join(of, ", "))
	}
	if _, err := time.Parse(time.DateOnly, c.cfg.HarmonyDate); err != nil && c.cfg.HarmonyDate != "" {
		return fmt.Errorf("--harmony-date %q is no date such as 2026-01-31", c.cfg.HarmonyDate)
	}
	for _, err := range [...]error{
		one("api", c.api, "", "chat", "completions", "responses", "messages"),
		one("content-format", string(c.cfg.ContentFormat), string(configs.ContentAuto), string(configs.ContentString), string(configs.ContentParts)),
		one("tool-projection", string(c.cfg.ToolProjection), string(configs.ToolsAuto), string(configs.ToolsVLLM), string(configs.ToolsSGLang), string(configs.ToolsAsSent)),
		one("mode", string(c.cfg.Mode), string(configs.ModeAuto), string(configs.ModeHF), string(configs.ModeMistral),
			string(configs.ModeDeepSeekV32), string(configs.ModeDeepSeekV4), string(configs.ModeOther)),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}
