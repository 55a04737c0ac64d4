// Package trie finds which of many texts another text begins with. Tries are
// immutable.
package trie

import (
	"bytes"
	"slices"
)

// Trie is a set of texts with a number each. Nodes lie breadth first, so that the
// children of a node follow each other.
type Trie struct {
	nodes  []node
	labels []byte // by which a node is reached
}

type node struct {
	first uint32 // child
	value int32  // of the text that ends here, or -1
	count uint16
}

// Entry is a text and its number, which is not negative.
type Entry struct {
	Text  []byte
	Value int32
}

// part is the sorted entries of one node, which agree in their first depth bytes.
type part struct{ low, high, depth int }

// New makes the trie of some entries, whose order it changes. Of equal texts the last
// counts.
func New(entries []Entry) *Trie {
	slices.SortStableFunc(entries, func(a, b Entry) int { return bytes.Compare(a.Text, b.Text) })
	t := &Trie{labels: []byte{0}}
	queue := []part{{0, len(entries), 0}}
	for at := 0; at < len(queue); at++ {
		p := queue[at]
		n := node{first: uint32(len(t.labels)), value: -1}
		for p.low < p.high && len(entries[p.low].Text) == p.depth {
			n.value = entries[p.low].Value
			p.low++
		}
		for low := p.low; low < p.high; {
			label := entries[low].Text[p.depth]
			high := low + 1
			for high < p.high && entries[high].Text[p.depth] == label {
				high++
			}
			t.labels = append(t.labels, label)
			queue = append(queue, part{low, high, p.depth + 1})
			low = high
		}
		n.count = uint16(uint32(len(t.labels)) - n.first)
		t.nodes = append(t.nodes, n)
	}
	return t
}

// Bytes is the memory that it takes.
func (t *Trie) Bytes() int64 { return int64(len(t.nodes)) * 13 }

// Root is where a walk begins.
const Root = 0

// Next walks from a node along one byte.
func (t *Trie) Next(at uint32, label byte) (next uint32, found bool) {
	n := &t.nodes[at]
	low, high := n.first, n.first+uint32(n.count)
	for high-low > 4 {
		middle := (low + high) / 2
		if t.labels[middle] <= label {
			low = middle
		} else {
			high = middle
		}
	}
	for ; low < high; low++ {
		if t.labels[low] == label {
			return low, true
		}
	}
	return 0, false
}

// Value is the number of the text that ends at a node.
func (t *Trie) Value(at uint32) (value int32, found bool) {
	value = t.nodes[at].value
	return value, value >= 0
}

// Longest is the longest text that text begins with, and its number.
func (t *Trie) Longest(text []byte) (size int, value int32, found bool) {
	at := uint32(Root)
	for i, label := range text {
		next, there := t.Next(at, label)
		if !there {
			break
		}
		at = next
		if v, ends := t.Value(at); ends {
			size, value, found = i+1, v, true
		}
	}
	return size, value, found
}
