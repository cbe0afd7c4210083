package rollout

import (
	"context"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/journals"
)

// pendingBytes is the most that a segment holds in memory before it is written
// early: a segment is loaded as a whole.
const pendingBytes = 12 << 20

// rowBytes is about the size of a row without its texts and tokens.
const rowBytes = 3 << 10

// keeper makes rows durable within a time limit: finished trajectories, or answered calls.
// While a segment is being written others are collected, and keep blocks only when they are
// as large as a segment may be, so that memory does not grow when the store is slow.
type keeper[T any] struct {
	journal *journals.Journal[T]
	weigh   func(*T) int
	every   time.Duration
	rows    chan T
	done    chan struct{}
	failed  func(error) // called with the first error
	err     error       // to be read after close
}

func newKeeper[T any](ctx context.Context, j *journals.Journal[T], every time.Duration, weigh func(*T) int, failed func(error)) *keeper[T] {
	k := &keeper[T]{journal: j, weigh: weigh, every: every, rows: make(chan T), done: make(chan struct{}), failed: failed}
	go k.run(context.WithoutCancel(ctx))
	return k
}

func (k *keeper[T]) keep(t T) { k.rows <- t }

func (k *keeper[T]) close() error {
	close(k.rows)
	<-k.done
	return k.err
}

// run collects what is to be kept, and hands it to a goroutine that writes it. Once that has taken some, it waits
// a while for more, unless there is enough for a segment, or no more to come.
func (k *keeper[T]) run(ctx context.Context) {
	defer close(k.done)
	segments, hurry, written, began := make(chan []T), make(chan struct{}), make(chan struct{}), time.Now()
	go func() {
		defer close(written)
		for rows := range segments {
			select {
			case <-time.After(k.pause(k.append(ctx, rows), time.Since(began))):
			case <-hurry:
			}
		}
	}()
	var pending []T
	size, in := 0, k.rows
	for in != nil || len(pending) > 0 {
		from, to, now := in, segments, hurry
		if size > pendingBytes {
			from = nil
		} else if in != nil {
			now = nil
		}
		if len(pending) == 0 {
			to = nil
		}
		select {
		case t, more := <-from:
			if !more {
				in = nil
				continue
			}
			pending = append(pending, t)
			size += k.weigh(&t)
		case to <- pending:
			pending, size = nil, 0
		case now <- struct{}{}:
		}
	}
	close(segments)
	close(hurry)
	<-written
}

// pause returns the wait before the next segment, after one that took this long to write, when the
// keeper has run this long. It is short at first: a killed run loses at most a quarter of its time. At most a third
// of the time is spent waiting for the store, and a long run writes one segment per k.every.
func (k *keeper[T]) pause(took, ran time.Duration) time.Duration {
	return min(k.every, max(2*took, ran/4))
}

// append writes a segment and returns how long that took. It waits at most a minute
// for a store that hangs; the process may be ending.
func (k *keeper[T]) append(ctx context.Context, rows []T) (took time.Duration) {
	if k.err != nil {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	began := time.Now()
	if k.err = k.journal.Append(ctx, rows); k.err != nil {
		k.failed(k.err)
	}
	return time.Since(began)
}

// Weight returns about how many bytes a row takes.
func Weight(t *formats.Trajectory) int {
	n := rowBytes + len(t.Example) + len(t.Metadata) + len(t.Error)
	for i := range t.Messages {
		m := &t.Messages[i]
		n += 200 + len(m.Content) + len(m.ContentParts) + len(m.Reasoning) +
			4*(len(m.TokenIDs)+len(m.Logprobs)+len(m.PromptDeltaIDs))
		for k := range m.ToolCalls {
			n += 100 + len(m.ToolCalls[k].Arguments)
		}
	}
	for _, set := range t.ToolSets {
		n += len(set)
	}
	for i := range t.Calls {
		n += 200 + len(t.Calls[i].Sampling) + len(t.Calls[i].Error)
	}
	for i := range t.Candidates {
		n += 100 + len(t.Candidates[i].Content) + len(t.Candidates[i].Metadata)
	}
	for i := range t.Artifacts {
		n += 100 + len(t.Artifacts[i].Content)
	}
	return n + len(t.Answer)
}
