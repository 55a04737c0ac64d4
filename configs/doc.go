// Package configs owns the configuration of the gateway: its schema, defaults,
// strict parsing and validation. It reads no network and starts no goroutine.
//
// A file is YAML. Unknown keys are refused; every error is reported at once,
// each with its line. A key that is absent takes the value that Default gives;
// the zero value of a field means what its comment says.
package configs
