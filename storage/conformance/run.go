package conformance

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/storage"
)

// Result is the outcome of one case.
type Result struct {
	Case     string        `json:"case"`
	Pass     bool          `json:"pass"`
	Problems []string      `json:"problems,omitempty"`
	Took     time.Duration `json:"took_ns"`
}

// Run runs every case on a bucket, each in a folder of its own that it removes
// afterwards, and reports each result as soon as it is known. The error is only
// for a case that could not be run.
func Run(ctx context.Context, open func(folder string) (*storage.Bucket, error), report func(Result)) error {
	for i, c := range All {
		b, err := open(fmt.Sprintf("%02d", i))
		if err != nil {
			return err
		}
		began := time.Now()
		problems := c.run(ctx, b)
		if err := ctx.Err(); err != nil {
			return err
		}
		report(Result{Case: c.Name, Pass: len(problems) == 0, Problems: problems, Took: time.Since(began)})
		if err := Remove(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// run runs the case to its end, as the testing package would, and returns the
// failures.
func (c Case) run(ctx context.Context, b *storage.Bucket) []string {
	t := &recorder{ctx: ctx}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				t.Errorf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		c.Test(t, b)
	}()
	<-done
	return t.problems
}

// Remove deletes the objects in a bucket.
func Remove(ctx context.Context, b *storage.Bucket) error {
	var left []string
	for o, err := range b.List(ctx, "") {
		if err != nil {
			return err
		}
		left = append(left, o.Key)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for _, key := range left {
		g.Go(func() error { return b.Delete(ctx, key) })
	}
	return g.Wait()
}

// recorder is a T that records failures.
type recorder struct {
	ctx      context.Context
	mu       sync.Mutex
	problems []string
}

func (t *recorder) Context() context.Context { return t.ctx }
func (t *recorder) Helper()                  {}
func (t *recorder) Error(args ...any)        { t.add(fmt.Sprintln(args...)) }
func (t *recorder) Errorf(format string, args ...any) {
	t.add(fmt.Sprintf(format, args...))
}

func (t *recorder) Fatal(args ...any) {
	t.Error(args...)
	runtime.Goexit()
}

func (t *recorder) add(problem string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.problems = append(t.problems, strings.TrimSpace(problem))
}
