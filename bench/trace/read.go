package trace

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Limits of what Read accepts.
const (
	maxLine     = 16 << 20
	maxRequests = 4 << 20
	maxTokens   = 1 << 26 // per request
)

// mooncakeBlock is the block size of the Mooncake traces, in tokens.
const mooncakeBlock = 512

// ErrEmpty means that a trace holds no request.
var ErrEmpty = errors.New("trace: no request")

// Open reads the trace in the file at path.
func Open(path string) (*Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open trace: %w", err)
	}
	defer f.Close()
	return Read(filepath.Base(path), f)
}

// Read reads a trace in any of the known formats, which it tells apart by the
// first bytes. The whole may be compressed with zstd.
//
//   - Mooncake JSON lines: timestamp (ms), input_length, output_length,
//     hash_ids in blocks of 512 tokens, and optionally session
//   - text JSON lines: session, ts_us, input, output, both texts in full
//   - Azure CSV: TIMESTAMP,ContextTokens,GeneratedTokens
//
// Arrival times are counted from the earliest request.
func Read(name string, r io.Reader) (*Trace, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	if magic, _ := br.Peek(4); bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		zr, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
		if err != nil {
			return nil, fmt.Errorf("cannot decompress trace %q: %w", name, err)
		}
		defer zr.Close()
		br = bufio.NewReaderSize(zr, 64<<10)
	}
	t := &Trace{Name: name, BlockTokens: mooncakeBlock}
	head, _ := br.Peek(len(azureHeader))
	var err error
	if strings.HasPrefix(string(head), azureHeader) {
		err = t.readAzure(br)
	} else {
		err = t.readLines(br)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read trace %q: %w", name, err)
	}
	if len(t.Requests) == 0 {
		return nil, fmt.Errorf("cannot read trace %q: %w", name, ErrEmpty)
	}
	t.sort()
	first := t.Requests[0].At
	for i := range t.Requests {
		t.Requests[i].At -= first
	}
	return t, nil
}

// line is one JSON line of either kind.
type line struct {
	Timestamp *float64        `json:"timestamp"` // ms
	Input     int             `json:"input_length"`
	Output    int             `json:"output_length"`
	Blocks    []uint64        `json:"hash_ids"`
	Session   json.RawMessage `json:"session"`

	Micros     *float64 `json:"ts_us"`
	InputText  *string  `json:"input"`
	OutputText string   `json:"output"`
}

func (t *Trace) readLines(r io.Reader) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), maxLine)
	for n := 1; s.Scan(); n++ {
		text := bytes.TrimSpace(s.Bytes())
		if len(text) == 0 {
			continue
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		q, err := l.request()
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if err := t.add(q); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return s.Err()
}

func (l *line) request() (Request, error) {
	q := Request{Session: sessionName(l.Session)}
	at := 0.0 // µs
	switch {
	case l.InputText != nil && l.Micros != nil:
		at = *l.Micros
		q.Messages = []Message{{Role: "user", Content: *l.InputText}}
		q.Input = (len(*l.InputText) + bytesPerToken - 1) / bytesPerToken
		q.Output = (len(l.OutputText) + bytesPerToken - 1) / bytesPerToken
	case l.Timestamp != nil:
		at = *l.Timestamp * 1e3
		q.Input, q.Output, q.Blocks = l.Input, l.Output, l.Blocks
	default:
		return q, errors.New("want timestamp with input_length, or ts_us with input")
	}
	if at < 0 || at > 9e15 { // beyond it nanoseconds leave int64
		return q, fmt.Errorf("time stamp %g is out of range", at)
	}
	whole, part := math.Modf(at) // epoch nanoseconds do not fit a float64
	q.At = time.Duration(whole)*time.Microsecond + time.Duration(part*1e3)
	return q, nil
}

// sessionName accepts numbers and strings.
func sessionName(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

const azureHeader = "TIMESTAMP,ContextTokens,GeneratedTokens"

func (t *Trace) readAzure(r io.Reader) error {
	c := csv.NewReader(r)
	c.FieldsPerRecord = 3
	c.ReuseRecord = true
	if _, err := c.Read(); err != nil {
		return err
	}
	var first time.Time
	for n := 2; ; n++ {
		rec, err := c.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		at, err := time.Parse("2006-01-02 15:04:05.9999999", rec[0])
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if first.IsZero() {
			first = at
		}
		in, err1 := strconv.Atoi(rec[1])
		out, err2 := strconv.Atoi(strings.TrimSpace(rec[2]))
		if err := errors.Join(err1, err2); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if err := t.add(Request{At: at.Sub(first), Input: in, Output: out}); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
}

func (t *Trace) add(q Request) error {
	if q.Input < 0 || q.Input > maxTokens || q.Output < 0 || q.Output > maxTokens {
		return fmt.Errorf("%d input and %d output tokens are out of range", q.Input, q.Output)
	}
	if len(t.Requests) == maxRequests {
		return fmt.Errorf("more than %d requests", maxRequests)
	}
	t.Requests = append(t.Requests, q)
	return nil
}
