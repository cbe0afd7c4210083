package promises

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/rollmill/rollmill/storage"
)

// Result is how a bucket kept one promise.
type Result struct {
	Promise  string        `json:"promise"`
	Kept     bool          `json:"kept"`
	Problems []string      `json:"problems,omitempty"`
	Took     time.Duration `json:"took_ns"`
}

// Check holds a bucket against every promise, each in a folder of its own that
// it removes again, and tells each result as it comes. The error is only for
// what kept it from asking.
func Check(ctx context.Context, open func(folder string) (*storage.Bucket, error), tell func(Result)) error {
	for i, p := range All {
		b, err := open(fmt.Sprintf("%02d", i))
		if err != nil {
			return err
		}
		began := time.Now()
		problems := hold(ctx, p, b)
		if err := ctx.Err(); err != nil {
			return err
		}
		tell(Result{Promise: p.Name, Kept: len(problems) == 0, Problems: problems, Took: time.Since(began)})
		if err := remove(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// hold runs one promise to its end, as the testing package would.
func hold(ctx context.Context, p Promise, b *storage.Bucket) []string {
	t := &told{ctx: ctx}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				t.Errorf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		p.Hold(t, b)
	}()
	<-done
	return t.problems
}

// remove deletes what a promise left.
func remove(ctx context.Context, b *storage.Bucket) error {
	var left []string
	for o, err := range b.List(ctx, "") {
		if err != nil {
			return err
		}
		left = append(left, o.Key)
	}
	const workers = 16
	for _, err := range race(workers, func(part int) error {
		for i := part; i < len(left); i += workers {
			if err := b.Delete(ctx, left[i]); err != nil {
				return err
			}
		}
		return nil
	}) {
		if err != nil {
			return err
		}
	}
	return nil
}

// told is a T that remembers what it was told.
type told struct {
	ctx      context.Context
	mu       sync.Mutex
	problems []string
}

func (t *told) Context() context.Context { return t.ctx }
func (t *told) Helper()                  {}
func (t *told) Error(args ...any)        { t.add(fmt.Sprintln(args...)) }
func (t *told) Errorf(format string, args ...any) {
	t.add(fmt.Sprintf(format, args...))
}

func (t *told) Fatal(args ...any) {
	t.Error(args...)
	runtime.Goexit()
}

func (t *told) add(problem string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.problems = append(t.problems, strings.TrimSpace(problem))
}
