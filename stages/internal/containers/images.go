package containers

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Bring returns when an image is there, which is built of a folder, or, for "", its registry has.
// Each is built once. One that could not be built is not tried again by this process: all
// attempts at its task fail alike. The build goes on when ctx ends, for others.
func (m *Machine) Bring(ctx context.Context, name, folder string, limit time.Duration) error {
	build, _ := m.images.LoadOrStore(name, sync.OnceValue(func() error {
		ctx, stop := context.WithTimeoutCause(m.building, Limit(limit), ErrPhase)
		defer stop()
		return m.Runtime.Image(ctx, name, folder)
	}))
	built := make(chan error, 1)
	go func() { built <- build.(func() error)() }()
	select {
	case err := <-built:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ErrPhase ends what a task's time limit ends.
var ErrPhase = errors.New("the task's time limit passed")

// Limit is a time limit of a task; 0 is none.
func Limit(d time.Duration) time.Duration {
	if d <= 0 {
		return 365 * 24 * time.Hour
	}
	return d
}
