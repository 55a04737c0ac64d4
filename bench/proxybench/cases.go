package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// kind is how a case is driven and what it measures.
type kind int

const (
	throughput kind = iota // 64 connections, as fast as they go
	latency                // one connection, answers in one piece
	firstByte              // one connection, streamed answers of one event
	events                 // many streams with a steady beat
	idle                   // very many streams that are silent
)

// benchCase is one table of the result.
type benchCase struct {
	name   string
	title  string
	kind   kind
	prompt int // bytes
	chats  int // different chats sent in turn, for tokenizers; 0: one completion prompt
}

// The shape of the stream cases.
const (
	connections    = 64
	eventStreamsN  = 256
	eventsEach     = 100
	eventEvery     = 20 // ms
	idlePrompt     = 8 << 10
	streamedPrompt = 1 << 10
	chatsEach      = 64
)

func allCases() []benchCase {
	return []benchCase{
		{"small", "Prompt of 1 KiB, answer of 1 KiB, 64 connections", throughput, 1 << 10, 0},
		{"large", "Prompt of 32 KiB, answer of 1 KiB, 64 connections", throughput, 32 << 10, 0},
		{"keyed", "Chats of 1 KiB, tokenized, answer of 1 KiB, 64 connections", throughput, 1 << 10, chatsEach},
		{"keyed-large", "Chats of 32 KiB, tokenized, answer of 1 KiB, 64 connections", throughput, 32 << 10, chatsEach},
		{"one", "One connection, prompt of 1 KiB, answer of 1 KiB", latency, 1 << 10, 0},
		{"one-large", "One connection, prompt of 32 KiB, answer of 1 KiB", latency, 32 << 10, 0},
		{"first", "Time to first byte of a stream, one connection", firstByte, streamedPrompt, 0},
		{"events", fmt.Sprintf("%d streams of %d events, one each %d ms", eventStreamsN, eventsEach, eventEvery), events, streamedPrompt, 0},
		{"idle", "Open silent streams, prompts of 8 KiB", idle, idlePrompt, 0},
	}
}

func caseNames() []string {
	all := allCases()
	names := make([]string, 0, len(all))
	for _, c := range all {
		names = append(names, c.name)
	}
	return names
}

// selectCases picks the cases in a comma-separated list; empty means all.
func selectCases(list string) ([]benchCase, error) {
	all := allCases()
	if list == "" {
		return all, nil
	}
	var picked []benchCase
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(all, func(c benchCase) bool { return c.name == name })
		if i < 0 {
			return nil, fmt.Errorf("cannot find case %q: want some of %s", name, strings.Join(caseNames(), ", "))
		}
		picked = append(picked, all[i])
	}
	return picked, nil
}

// order is the generator's job for c, other than throughput.
func (c benchCase) order(address string, o *options) order {
	j := order{Address: address, Prompt: c.prompt, Conns: 1, Length: o.length}
	switch c.kind {
	case latency, throughput:
		j.Mode = "closed"
		if c.kind == throughput {
			j.Conns = connections
		}
	case firstByte:
		j.Mode = "first"
	case events:
		j.Mode, j.Conns, j.Events, j.Every = "events", eventStreamsN, eventsEach, eventEvery
		if o.quick {
			j.Conns, j.Events = 64, 25
		}
	case idle:
		j.Mode, j.Conns = "idle", o.streams
	}
	return j
}

// settleTime is how long memory may come to rest before it is read.
const settleTime = 2 * time.Second

// metric is one measured quantity of a cell.
type metric string

const (
	mRate     metric = "req/s"
	mCPU      metric = "CPU µs" // per request or event
	mBusy     metric = "core busy"
	mForeign  metric = "foreign CPU"
	mRSS      metric = "RSS"
	mP50      metric = "P50 µs"
	mP99      metric = "P99 µs"
	mFirstP50 metric = "first byte P50 µs"
	mPerUnit  metric = "RSS per stream"
	mFailed   metric = "failed"
	mDisorder metric = "out of order"
	mStreams  metric = "streams"
)

// cell is one measurement of one proxy in one case.
type cell map[metric]float64
