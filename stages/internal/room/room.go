// Package room bounds what large answers of engines, workflow servers and
// reward services take in memory together. Each answer has its own limit, where
// it is read; with many calls at once the sum of these would be far too much.
//
// Small answers are free. One that grows beyond what is free waits until there
// is room for all that it may become, so that no two wait for each other; its
// peer waits, too, since nothing is read from it meanwhile. The wait ends with
// the call's own time limit.
package room

import (
	"context"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Bytes is what all large answers of the process hold at most, as they came;
// what is made of them is about as much again.
const Bytes = 256 << 20

var shared = semaphore.NewWeighted(Bytes)

// Reader reads an answer. Beyond the first free bytes it takes room for size
// bytes, or for most when the size is not known (-1) or more. release gives it
// back, when nothing of the answer is held any more; it may be called twice.
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
		return fmt.Errorf("large answers hold %d MiB already, the most that they may together: %w", Bytes>>20, context.Cause(s.ctx))
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
