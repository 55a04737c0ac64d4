package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// generator runs o in a child process on the helpers' core and returns what it
// saw and the CPU it took. ready is called while an idle job holds its streams.
func (r *runner) generator(ctx context.Context, o order, ready func() error) (yield, time.Duration, error) {
	var y yield
	text, err := json.Marshal(o)
	if err != nil {
		return y, 0, fmt.Errorf("cannot write the order: %w", err)
	}
	cmd := exec.CommandContext(ctx, r.h.self, "generate", string(text))
	var errs strings.Builder
	cmd.Stderr = &errs
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return y, 0, fmt.Errorf("cannot reach the generator: %w", err)
	}
	if err := startOn(r.h.helpCore, cmd.Start); err != nil {
		return y, 0, fmt.Errorf("cannot start the generator: %w", err)
	}
	lines := bufio.NewScanner(out)
	var last []byte
	var hookErr error
	for lines.Scan() {
		last = append(last[:0], lines.Bytes()...)
		if string(last) == readyLine {
			if ready != nil {
				hookErr = ready()
			}
			_ = in.Close()
		}
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		return y, 0, fmt.Errorf("cannot generate: %w: %s", err, errs.String())
	}
	if err := json.Unmarshal(last, &y); err != nil {
		return y, 0, fmt.Errorf("cannot read what the generator saw: %w", err)
	}
	return y, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), hookErr
}

// script is wrk's name for the request to send.
const script = "post.lua"

// writeScript writes the requests of a case as a wrk script, made before the run:
// while it drives, wrk runs no Lua for one request, and one table access for many.
func writeScript(dir, address, tokenizer string, c *benchCase) error {
	text := []byte("wrk.method = \"POST\"\nwrk.headers[\"Content-Type\"] = \"application/json\"\n")
	if c.chats == 0 {
		_, body, _ := bytes.Cut(request(address, c.prompt, false, 0, 0), []byte("\r\n\r\n"))
		text = fmt.Appendf(text, "wrk.body = [==[%s]==]\n", body)
	} else {
		text = append(text, "local bodies, requests, at = {}, {}, 0\n"...)
		chats := prose(tokenizer)
		for i := range c.chats {
			text = fmt.Appendf(text, "bodies[%d] = [==[%s]==]\n", i+1, chatBody(chats, i, c.prompt))
		}
		text = append(text, `init = function() for i, b in ipairs(bodies) do requests[i] = wrk.format(nil, nil, nil, b) end end
request = function() at = at % #requests + 1; return requests[at] end
`...)
	}
	if err := os.WriteFile(filepath.Join(dir, script), text, 0o600); err != nil {
		return fmt.Errorf("cannot write the script of wrk: %w", err)
	}
	return nil
}

// path is where the requests of c go.
func (c *benchCase) path() string {
	if c.chats > 0 {
		return "/v1/chat/completions"
	}
	return "/v1/completions"
}

func runWrk(ctx context.Context, wrk, dir, url string, core int, length time.Duration) (driven, error) {
	seconds := max(1, int(length.Round(time.Second)/time.Second)) // wrk takes whole ones
	cmd := exec.CommandContext(ctx, wrk, "-t1", "-c"+strconv.Itoa(connections), "-d"+strconv.Itoa(seconds)+"s",
		"-s", filepath.Join(dir, script), url)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := startOn(core, cmd.Start); err != nil {
		return driven{}, fmt.Errorf("cannot start wrk: %w", err)
	}
	if err := cmd.Wait(); err != nil {
		return driven{}, fmt.Errorf("cannot run wrk: %w: %s", err, out.String())
	}
	d, err := parseWrk(out.String())
	d.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return d, err
}

var (
	wrkDone   = regexp.MustCompile(`(\d+) requests in ([0-9.]+)(ms|s|m),`)
	wrkStatus = regexp.MustCompile(`Non-2xx or 3xx responses: (\d+)`)
	wrkSocket = regexp.MustCompile(`Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)`)
)

// parseWrk reads the summary that wrk prints.
func parseWrk(text string) (driven, error) {
	var d driven
	m := wrkDone.FindStringSubmatch(text)
	if m == nil {
		return d, fmt.Errorf("cannot read the result of wrk: %q", text)
	}
	var err error
	if d.done, err = strconv.ParseFloat(m[1], 64); err != nil {
		return d, fmt.Errorf("cannot read the result of wrk: %w", err)
	}
	if d.span, err = time.ParseDuration(m[2] + m[3]); err != nil {
		return d, fmt.Errorf("cannot read the result of wrk: %w", err)
	}
	for _, re := range []*regexp.Regexp{wrkStatus, wrkSocket} {
		for i, s := range re.FindStringSubmatch(text) {
			if i > 0 {
				n, _ := strconv.ParseFloat(s, 64) // digits by the pattern
				d.failed += n
			}
		}
	}
	return d, nil
}
