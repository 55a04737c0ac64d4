package oracle

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
)

// Live is an official tokenizer as a child process, for texts that are not in the cache.
// It is for one goroutine at a time. Close it.
type Live struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// Environments of Python in the cache.
const (
	Current   = "python"    // what engines have
	Unicode14 = "unicode14" // tokenizers 0.21.1, with the classes of Unicode 14
)

// Serve starts the Python oracle of an environment for one model and mode; scripts is
// the folder of encode.py.
func (c Cache) Serve(ctx context.Context, scripts, environment string, m Model, oracle, mode string) (*Live, error) {
	python := filepath.Join(c.Dir, environment, "bin", "python")
	cmd := exec.CommandContext(ctx, python, filepath.Join(scripts, "encode.py"), "serve", m.Dir, oracle, mode)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("cannot start the oracle: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("cannot start the oracle: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the oracle: %w", err)
	}
	return &Live{cmd: cmd, in: in, out: bufio.NewReader(out)}, nil
}

// Encode asks for the ids of a text.
func (l *Live) Encode(text []byte) ([]uint32, error) {
	frame := binary.LittleEndian.AppendUint32(make([]byte, 0, len(text)+4), uint32(len(text)))
	if _, err := l.in.Write(append(frame, text...)); err != nil {
		return nil, fmt.Errorf("cannot ask the oracle: %w", err)
	}
	var count uint32
	if err := binary.Read(l.out, binary.LittleEndian, &count); err != nil {
		return nil, fmt.Errorf("cannot hear the oracle: %w", err)
	}
	ids := make([]uint32, count)
	if err := binary.Read(l.out, binary.LittleEndian, ids); err != nil {
		return nil, fmt.Errorf("cannot hear the oracle: %w", err)
	}
	return ids, nil
}

// Close ends the process.
func (l *Live) Close() error {
	l.in.Close()
	return l.cmd.Wait()
}
