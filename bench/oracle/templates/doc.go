// Package templates holds the comparison of our chat template engine with Jinja2:
// real templates, gathered by setup.sh and never committed, are rendered by both and
// must agree to the last byte. It also renders what tries to crash, hang or bloat the
// engine, and measures its speed. README.md says how to run it.
//
// It has no code of its own, only tests.
package templates
