package added

import (
	"bytes"
	"fmt"
	"slices"
)

// Matcher finds the longest pattern at the leftmost place. The search hops from one
// possible first byte to the next and walks a trie from there, so it takes memory
// speed where none is, and never more steps per byte than the longest pattern has.
type Matcher struct {
	firsts []byte // the distinct first bytes, while they are few
	root   [256]uint32
	nodes  []node
	labels []byte // of edges, each node's ascending
	nexts  []uint32
	tokens []*Token
}

// node is a place in the trie: its edges are labels[first:first+count].
type node struct {
	first uint32
	count uint16
	token int32 // in tokens, or -1
}

// fewFirsts is up to how many first bytes the search for each of them by itself, with
// vector instructions, is faster than looking at every byte.
const fewFirsts = 6

// longest is how many bytes a pattern may have; the search takes as many steps for one
// byte at worst, and building the trie as many calls inside each other.
const longest = 4096

type trieBuilder struct {
	patterns []string
	tokens   map[string]*Token
	err      error
}

func (b *trieBuilder) add(pattern string, token *Token) {
	if b.tokens == nil {
		b.tokens = map[string]*Token{}
	}
	if other, found := b.tokens[pattern]; found {
		b.err = duplicate(pattern, other, token)
	}
	if pattern == "" || len(pattern) > longest {
		b.err = fmt.Errorf("added token %.40q has %d bytes in normalised text, not 1 to %d", token.Content, len(pattern), longest)
	}
	b.tokens[pattern] = token
	b.patterns = append(b.patterns, pattern)
}

// build makes the matcher.
func (b *trieBuilder) build() (*Matcher, error) {
	if b.err != nil {
		return nil, b.err
	}
	m := &Matcher{nodes: make([]node, 1)}
	slices.Sort(b.patterns)
	for _, pattern := range b.patterns {
		m.tokens = append(m.tokens, b.tokens[pattern])
		if !slices.Contains(m.firsts, pattern[0]) {
			m.firsts = append(m.firsts, pattern[0])
		}
	}
	for low := 0; low < len(b.patterns); {
		c := b.patterns[low][0]
		high := low
		for high < len(b.patterns) && b.patterns[high][0] == c {
			high++
		}
		m.root[c] = m.build(b.patterns, low, high, 1)
		low = high
	}
	return m, nil
}

// build makes the node of the sorted patterns low to high, which agree in their first
// depth bytes.
func (m *Matcher) build(patterns []string, low, high, depth int) uint32 {
	at := uint32(len(m.nodes))
	n := node{token: -1}
	if len(patterns[low]) == depth {
		n.token = int32(low)
		low++
	}
	n.first = uint32(len(m.labels))
	var starts []int
	for i := low; i < high; i++ {
		if i == low || patterns[i][depth] != patterns[i-1][depth] {
			m.labels = append(m.labels, patterns[i][depth])
			m.nexts = append(m.nexts, 0)
			starts = append(starts, i)
		}
	}
	n.count = uint16(len(starts))
	m.nodes = append(m.nodes, n)
	for i, start := range starts {
		end := high
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		m.nexts[int(n.first)+i] = m.build(patterns, start, end, depth+1)
	}
	return at
}

// Empty says that there is nothing to find.
func (m *Matcher) Empty() bool { return len(m.tokens) == 0 }

// Bytes is the memory that it takes.
func (m *Matcher) Bytes() int64 {
	size := int64(len(m.nodes))*12 + int64(len(m.labels))*5 + 1024
	for _, token := range m.tokens {
		size += int64(len(token.Content)) + 128
	}
	return size
}

// Scan is a search through one text. It is a value, so that it costs no allocation.
type Scan struct {
	m    *Matcher
	text []byte
	next [fewFirsts]int // where each first byte is next, while they are few
}

// Scan begins a search; from never goes back in its calls.
func (m *Matcher) Scan(text []byte) Scan {
	s := Scan{m: m, text: text}
	for i := range s.next {
		s.next[i] = -1
	}
	return s
}

// find gives the first match at from or behind it.
func (s *Scan) find(from int) (start, end int, token *Token) {
	m := s.m
	if len(m.firsts) > fewFirsts {
		for ; from < len(s.text); from++ {
			if at := m.root[s.text[from]]; at != 0 {
				if end, token = m.longest(s.text, from, at); token != nil {
					return from, end, token
				}
			}
		}
		return 0, 0, nil
	}
	for {
		at, c := s.hop(from)
		if at == len(s.text) {
			return 0, 0, nil
		}
		if end, token = m.longest(s.text, at, m.root[c]); token != nil {
			return at, end, token
		}
		from = at + 1
	}
}

// hop is where the next first byte is.
func (s *Scan) hop(from int) (at int, c byte) {
	at = len(s.text)
	for i, first := range s.m.firsts {
		if s.next[i] < from {
			s.next[i] = len(s.text)
			if found := bytes.IndexByte(s.text[from:], first); found >= 0 {
				s.next[i] = from + found
			}
		}
		if s.next[i] < at {
			at, c = s.next[i], first
		}
	}
	return at, c
}

// longest walks the trie from the node behind the byte at start.
func (m *Matcher) longest(text []byte, start int, at uint32) (end int, token *Token) {
	for i := start + 1; ; i++ {
		n := &m.nodes[at]
		if n.token >= 0 {
			end, token = i, m.tokens[n.token]
		}
		if i == len(text) || n.count == 0 {
			return end, token
		}
		edge := n.first + m.edge(n, text[i])
		if edge == n.first+uint32(n.count) {
			return end, token
		}
		at = m.nexts[edge]
	}
}

// edge is the number of the edge with a label, or the number of edges.
func (m *Matcher) edge(n *node, c byte) uint32 {
	labels := m.labels[n.first : n.first+uint32(n.count)]
	for i, label := range labels {
		if label >= c {
			if label == c {
				return uint32(i)
			}
			break
		}
	}
	return uint32(n.count)
}
