package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"penstock/bench/oracle"
)

// peers is the official tokenizers of one model, in a Python process of their own that
// answers one line per request. Nil is none.
type peers struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// startPeers starts speed_peer.py for a model; dir holds the documents.
func startPeers(ctx context.Context, o options, cache oracle.Cache, m oracle.Model, dir string) (*peers, error) {
	if !o.peers {
		return nil, nil
	}
	python := filepath.Join(cache.Dir, "python", "bin", "python")
	cmd := exec.CommandContext(ctx, python, filepath.Join(o.scripts, "speed_peer.py"), m.Dir, dir)
	// One thread each: encoding in batches on all cores is another question.
	cmd.Env = append(os.Environ(), "TOKENIZERS_PARALLELISM=false", "RAYON_NUM_THREADS=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the official tokenizers: %w", err)
	}
	return &peers{cmd, in, bufio.NewScanner(out)}, nil
}

// round adds one round of every peer to found.
func (p *peers) round(t text, found speed) error {
	if p == nil {
		return nil
	}
	if _, err := fmt.Fprintln(p.in, t.kind); err != nil {
		return fmt.Errorf("cannot ask the official tokenizers: %w", err)
	}
	if !p.out.Scan() {
		return fmt.Errorf("cannot hear the official tokenizers: %w", io.ErrUnexpectedEOF)
	}
	seconds := map[string]float64{}
	if err := json.Unmarshal(p.out.Bytes(), &seconds); err != nil {
		return fmt.Errorf("cannot read what the official tokenizers say: %w", err)
	}
	bytes := 0
	for _, doc := range t.unseen {
		bytes += len(doc)
	}
	for name, s := range seconds {
		found[name] = append(found[name], float64(bytes)/1e6/s)
	}
	return nil
}

func (p *peers) close() {
	if p == nil {
		return
	}
	p.in.Close()
	p.cmd.Wait() //nolint:errcheck // it has answered all that it was asked
}
