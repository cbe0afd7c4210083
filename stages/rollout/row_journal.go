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

	segments int       // written
	next     time.Time // when another may be
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

func (k *keeper[T]) run(ctx context.Context) {
	defer close(k.done)
	var pending []T
	size := 0
	var due <-chan time.Time
	var written chan error // nil unless a segment is being written
	end := func(err error) {
		written = nil
		if k.err == nil && err != nil {
			k.err = err
			k.failed(err)
		}
		if len(pending) > 0 {
			due = time.After(time.Until(k.next))
		}
	}
	begin := func() {
		rows := pending
		pending, size, due = nil, 0, nil
		if k.err != nil {
			return
		}
		written = make(chan error, 1)
		go func() { written <- k.append(ctx, rows) }()
	}
	for {
		rows := k.rows
		if written != nil && size > pendingBytes {
			rows = nil
		}
		select {
		case t, more := <-rows:
			if !more {
				if written != nil {
					end(<-written)
				}
				if len(pending) > 0 && k.err == nil {
					end(k.append(ctx, pending))
				}
				return
			}
			if pending = append(pending, t); due == nil && written == nil {
				due = time.After(time.Until(k.next))
			}
			if size += k.weigh(&t); size > pendingBytes && written == nil {
				begin()
			}
		case <-due:
			begin()
		case err := <-written:
			end(err)
			if size > pendingBytes {
				begin()
			}
		}
	}
}

// pause returns the wait before the next segment, after n segments of which the
// last took this long to write. It is short at first, so that a killed short
// run loses little. At most a third of the time is spent waiting for the store,
// and a long run writes one segment per k.every.
func (k *keeper[T]) pause(n int, took time.Duration) time.Duration {
	return min(k.every, max(2*took, time.Duration(n)*2*time.Millisecond))
}

// append waits at most a minute for a store that hangs; the process may be
// ending.
func (k *keeper[T]) append(ctx context.Context, rows []T) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	began := time.Now()
	err := k.journal.Append(ctx, rows)
	k.segments++
	k.next = time.Now().Add(k.pause(k.segments, time.Since(began)))
	return err
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
