package corpus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// Set is a named list of texts. All are valid UTF-8.
type Set struct {
	Name  string
	Texts [][]byte
}

// Bytes is the length of all texts together.
func (s Set) Bytes() int {
	n := 0
	for _, t := range s.Texts {
		n += len(t)
	}
	return n
}

// Write writes a set to a file.
func (s Set) Write(path string) error {
	out := make([]byte, 0, s.Bytes()+4*len(s.Texts))
	for _, t := range s.Texts {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(t)))
		out = append(out, t...)
	}
	if err := os.WriteFile(path, out, 0o644); err != nil {
		return fmt.Errorf("cannot write texts: %w", err)
	}
	return nil
}

var errShort = errors.New("the file ends within an entry")

// Read reads the texts of a file that Write wrote.
func Read(path string) ([][]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read texts: %w", err)
	}
	var texts [][]byte
	for len(data) > 0 {
		if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
			return nil, fmt.Errorf("cannot read texts %q: %w", path, errShort)
		}
		n := int(binary.LittleEndian.Uint32(data))
		texts = append(texts, data[4:4+n:4+n])
		data = data[4+n:]
	}
	return texts, nil
}
