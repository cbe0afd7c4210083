// Package room bounds the memory that large answers of engines, workflow
// servers and reward services take together. Each answer has its own limit
// where it is read; with many concurrent calls the sum of these would be far
// too much.
//
// Small answers are free. A larger one waits until there is room for its
// largest possible size, so that no two answers wait for each other; its sender
// waits too, since nothing is read meanwhile. The wait ends with the call's own
// time limit.
//
// It holds only as long as no answer is held while another one is read: the
// recorder frees an answer before an agent in this process reads it
// (recorder.Client), and a NAT workflow, whose steps are read while it calls its
// model, calls it from its own process.
package room

import (
	"context"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Bytes is the most that all large answers of the process may hold as received;
// what is decoded from them is about as much again.
const Bytes = 256 << 20

var shared = semaphore.NewWeighted(Bytes)

// Reader reads an answer. Beyond the free bytes it reserves room for size
// bytes, or for most if the size is unknown (-1) or larger. release frees it,
// when nothing of the answer is held any more; it may be called twice.
func Reader(ctx context.Context, r io.Reader, size, free, most int64) (_ io.Reader, release func()) {
	if size < 0 || size > most {
		size = most
	}
	s := &share{ctx: ctx, r: r, free: free, weight: min(size, Bytes)}
	return s, s.release
}

type share struct {
	ctx          context.Context
	r            io.Reader
	free, weight int64

	mu         sync.Mutex
	held, done bool
}

func (s *share) Read(p []byte) (int, error) {
	if s.free <= 0 {
		if err := s.take(); err != nil {
			return 0, err
		}
	} else if int64(len(p)) > s.free {
		p = p[:s.free]
	}
	n, err := s.r.Read(p)
	s.free -= int64(n)
	return n, err
}

func (s *share) take() error {
	s.mu.Lock()
	taken := s.held || s.done
	s.mu.Unlock()
	if taken {
		return nil
	}
	if err := shared.Acquire(s.ctx, s.weight); err != nil {
		return fmt.Errorf("large answers hold %d MiB already, which is their limit together: %w", Bytes>>20, context.Cause(s.ctx))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held = !s.done; !s.held {
		shared.Release(s.weight)
	}
	return nil
}

func (s *share) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	if s.held {
		s.held = false
		shared.Release(s.weight)
	}
}
