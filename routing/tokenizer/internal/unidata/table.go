package unidata

import (
	_ "embed"
	"sync"
)

const (
	scalars    = 0x110000
	blockBits  = 7
	blockSize  = 1 << blockBits
	blockMask  = blockSize - 1
	blockCount = scalars / blockSize
)

// Table gives the class of every code point. It is immutable.
type Table struct {
	index  [blockCount]uint16
	blocks []Class
	// assignedOnly says that lower case changes only what this version assigns.
	assignedOnly bool
}

var (
	//go:embed classes16.bin
	classes16 string
	//go:embed classes14.bin
	classes14 string

	table16 = sync.OnceValue(func() *Table { return newTable(classes16) })
	table14 = sync.OnceValue(func() *Table {
		t := newTable(classes14)
		t.assignedOnly = true
		return t
	})
)

// Classes returns the table of a version.
func Classes(v Version) *Table {
	if v == V14 {
		return table14()
	}
	return table16()
}

// Of returns the class of r; 0 for what is no scalar value.
func (t *Table) Of(r rune) Class {
	if uint32(r) >= scalars {
		return 0
	}
	return t.blocks[uint32(t.index[r>>blockBits])<<blockBits|uint32(r)&blockMask]
}

// Map returns a table with the classes that f makes of those of t.
func (t *Table) Map(f func(Class) Class) *Table {
	m := *t
	m.blocks = make([]Class, len(t.blocks))
	for i, c := range t.blocks {
		m.blocks[i] = f(c)
	}
	return &m
}

// newTable spreads the runs of a generated file; blocks that are alike are shared.
func newTable(data string) *Table {
	in := reader{data: data}
	sets := make([]Class, in.number())
	for i := range sets {
		sets[i] = Class(in.number())
	}
	t := &Table{}
	shared := map[[blockSize]Class]uint16{}
	var block [blockSize]Class
	run, class := 0, Class(0)
	for r := range scalars {
		if run == 0 {
			run = in.number()
			class = sets[in.byte()]
		}
		run--
		block[r&blockMask] = class
		if r&blockMask == blockMask {
			at, ok := shared[block]
			if !ok {
				at = uint16(len(shared))
				shared[block] = at
				t.blocks = append(t.blocks, block[:]...)
			}
			t.index[r>>blockBits] = at
		}
	}
	return t
}
