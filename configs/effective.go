package configs

import (
	"bytes"
	_ "embed" // the schema and the example are part of the binary
	"fmt"

	"go.yaml.in/yaml/v3"
)

//go:embed schema.json
var schemaJSON []byte

//go:embed example.yaml
var exampleYAML []byte

// Schema returns the JSON Schema of the configuration file.
func Schema() []byte { return bytes.Clone(schemaJSON) }

// Example returns a configuration file with every key, its default and unit.
func Example() []byte { return bytes.Clone(exampleYAML) }

// Effective returns the configuration as YAML with every default filled in.
// Secrets are "***"; Parse reads the result back only with AllowMasked.
func (c *Config) Effective() []byte {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(c); err != nil {
		panic(fmt.Sprintf("BUG: cannot write configuration: %v", err))
	}
	return b.Bytes()
}
