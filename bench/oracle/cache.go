package oracle

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"penstock/bench/oracle/corpus"
	"penstock/routing/tokenizer"
)

// Cache is the folder that setup.sh fills.
type Cache struct{ Dir string }

// ErrNotSetUp means that setup.sh has not run to its end.
var ErrNotSetUp = errors.New("oracle: not set up, run bench/oracle/setup.sh")

// Find locates the cache: $PENSTOCK_CACHE/oracle, or .cache/oracle in the root of the
// repository, which is searched upwards from the working directory.
func Find(getenv func(string) string) (Cache, error) {
	root, err := repository()
	if err != nil {
		return Cache{}, err
	}
	dir := filepath.Join(root, ".cache", "oracle")
	if base := getenv("PENSTOCK_CACHE"); base != "" {
		dir = filepath.Join(base, "oracle")
	}
	return Cache{dir}, nil
}

// AgentText locates the trace of agents' prompts: $PENSTOCK_AGENT_TEXT, or where it
// lies beside a checkout of the project; "" when there is none.
func AgentText(getenv func(string) string) string {
	path := getenv("PENSTOCK_AGENT_TEXT")
	if path == "" {
		root, err := repository()
		if err != nil {
			return ""
		}
		path = filepath.Join(root, "..", "shared", "traces", "agent_text.jsonl.zst")
	}
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// repository is the nearest folder upwards that holds a go.mod.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("cannot find the repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("cannot find the repository: no go.mod upwards")
		}
		dir = up
	}
}

// Model is one folder of the cache and what is known of it.
type Model struct {
	Name string
	Dir  string
	About
}

// About is the oracle.json of a model.
type About struct {
	Kind     string            `json:"kind"`       // huggingface, tiktoken, tekken
	Type     string            `json:"model_type"` // of its config.json; "" for none
	StandIn  string            `json:"stand_in"`   // whose vocabulary it has, when not its own
	Built    bool              `json:"built"`      // tokenizer.json built from the official vocabulary
	Optional bool              `json:"optional"`   // may be refused
	Peer     bool              `json:"peer"`       // only for the speed of tiktoken
	Pattern  string            `json:"pattern"`    // of a file of ranks
	Specials map[string]uint32 `json:"specials"`   // of a file of ranks
}

// Models lists the models of the cache, in order of their names.
func (c Cache) Models() ([]Model, error) {
	paths, err := filepath.Glob(filepath.Join(c.Dir, "models", "*", "oracle.json"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%w: no model in %q", ErrNotSetUp, c.Dir)
	}
	models := make([]Model, 0, len(paths))
	for _, path := range paths {
		m := Model{Name: filepath.Base(filepath.Dir(path)), Dir: filepath.Dir(path)}
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &m.About)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read model %q: %w", m.Name, err)
		}
		if m.Peer {
			continue
		}
		models = append(models, m)
	}
	return models, nil
}

// Load loads our tokenizer from the folder of a model.
func (m Model) Load() (*tokenizer.Model, error) {
	return tokenizer.Load(os.DirFS(m.Dir), tokenizer.Options{})
}

// AddedTokens is the texts of the added tokens that the files of a model name.
func (m Model) AddedTokens() ([]string, error) {
	texts := slices.Sorted(maps.Keys(m.Specials))
	file, err := os.ReadFile(filepath.Join(m.Dir, "tokenizer.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return texts, nil
	}
	var parsed struct {
		Added []struct {
			Content string `json:"content"`
		} `json:"added_tokens"`
	}
	if err == nil {
		err = json.Unmarshal(file, &parsed)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the added tokens of %s: %w", m.Name, err)
	}
	for _, t := range parsed.Added {
		texts = append(texts, t.Content)
	}
	return texts, nil
}

// TextsDir is the folder of the texts.
func (c Cache) TextsDir() string { return filepath.Join(c.Dir, "texts") }

// Texts reads all sets.
func (c Cache) Texts() ([]corpus.Set, error) {
	paths, err := filepath.Glob(filepath.Join(c.TextsDir(), "*.texts"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%w: no texts in %q", ErrNotSetUp, c.Dir)
	}
	var sets []corpus.Set
	for _, path := range paths {
		texts, err := corpus.Read(path)
		if err != nil {
			return nil, err
		}
		name := filepath.Base(path)
		sets = append(sets, corpus.Set{Name: name[:len(name)-len(".texts")], Texts: texts})
	}
	return sets, nil
}

// ExpectedDir is the folder of the official ids of a model.
func (c Cache) ExpectedDir(model string) string { return filepath.Join(c.Dir, "expected", model) }

// Expected is the ids that one official tokenizer gives in one mode.
type Expected struct {
	Set, Oracle, Mode string
	IDs               [][]uint32
}

// Flags is the mode of ours that answers to a mode of the oracle.
func (e *Expected) Flags() tokenizer.Mode {
	switch {
	case e.Oracle == "mistral" && e.Mode == "special": // it never reads special tokens in a text
		return tokenizer.PlainText | tokenizer.AddSpecial
	case e.Oracle == "mistral", e.Mode == "typed":
		return tokenizer.PlainText
	case e.Mode == "special":
		return tokenizer.AddSpecial
	}
	return 0
}

// Expected reads the official ids of a set; one entry for each oracle and mode.
func (c Cache) Expected(model, set string) ([]Expected, error) {
	paths, err := filepath.Glob(filepath.Join(c.ExpectedDir(model), set+".*.*"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%w: no ids of %s for %s", ErrNotSetUp, set, model)
	}
	slices.Sort(paths)
	found := make([]Expected, 0, len(paths))
	for _, path := range paths {
		mode := filepath.Ext(path)
		oracle := filepath.Ext(path[:len(path)-len(mode)])
		ids, err := readIDs(path)
		if err != nil {
			return nil, err
		}
		found = append(found, Expected{Set: set, Oracle: oracle[1:], Mode: mode[1:], IDs: ids})
	}
	return found, nil
}

func readIDs(path string) ([][]uint32, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read ids: %w", err)
	}
	var all [][]uint32
	for len(data) > 0 {
		if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data))*4 > uint64(len(data)-4) {
			return nil, fmt.Errorf("cannot read ids %q: %w", path, fs.ErrInvalid)
		}
		n := int(binary.LittleEndian.Uint32(data))
		ids := make([]uint32, n)
		for i := range ids {
			ids[i] = binary.LittleEndian.Uint32(data[4+4*i:])
		}
		all = append(all, ids)
		data = data[4+4*n:]
	}
	return all, nil
}
