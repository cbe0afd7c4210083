package room

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestLargeAnswersWaitForRoom(t *testing.T) {
	zeros := func(n int64) io.Reader { return io.LimitReader(zero{}, n) }
	const large, free = Bytes / 2, 1 << 10
	var releases []func()
	for range 2 {
		r, release := Reader(t.Context(), zeros(2*free), -1, free, large)
		if n, err := io.Copy(io.Discard, r); n != 2*free || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
		releases = append(releases, release)
	}
	small, done := Reader(t.Context(), zeros(free), -1, free, large)
	if n, err := small.Read(make([]byte, 2*free)); n != free || err != nil {
		t.Errorf("a small answer: %d, %v", n, err)
	}
	done()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	third, release := Reader(ctx, zeros(2*free), -1, free, large)
	if n, err := io.Copy(io.Discard, third); n != free || err == nil || !strings.Contains(err.Error(), "256 MiB") {
		t.Errorf("there was room for a third: %d, %v", n, err)
	}
	release()
	for _, release := range releases {
		release()
		release()
	}
	last, release := Reader(t.Context(), zeros(2*free), Bytes*2, free, Bytes*2)
	if n, err := io.Copy(io.Discard, last); n != 2*free || err != nil {
		t.Errorf("one that may hold more than all: %d, %v", n, err)
	}
	release()
	known, release := Reader(t.Context(), bytes.NewReader(make([]byte, 2*free)), 2*free, free, large)
	if _, err := io.ReadAll(known); err != nil || !shared.TryAcquire(Bytes-2*free) {
		t.Errorf("one of a known size takes more than that: %v", err)
	}
	shared.Release(Bytes - 2*free)
	release()
}

// TestAnswersDoNotWaitForEachOther reads many answers at once that have room one or
// a few at a time. If an answer took its room in parts, each would hold one part and
// wait for another's.
func TestAnswersDoNotWaitForEachOther(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // ends the test if they do
	defer cancel()
	const free, answers = 1 << 10, 64
	var all sync.WaitGroup
	for i := range answers {
		size := int64(1+i%8) * (Bytes / 8)
		known := int64(-1)
		if i%2 == 0 {
			known = size
		}
		all.Go(func() {
			r, release := Reader(ctx, io.LimitReader(zero{}, 64*free), known, free, size)
			defer release()
			n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, r, make([]byte, free))
			if n != 64*free || err != nil {
				t.Errorf("%d, %v", n, err)
			}
		})
	}
	all.Wait()
	if !shared.TryAcquire(Bytes) {
		t.Fatal("some room is still taken")
	}
	shared.Release(Bytes)
}

type zero struct{}

func (zero) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
