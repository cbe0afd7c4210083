package containers

import (
	"context"
	"errors"
	"sync"
	"time"
)

// builds are the images that were asked for.
type builds struct {
	ctx  context.Context // ends all builds
	stop context.CancelFunc
	mu   sync.Mutex
	made map[string]func() error
}

// Bring returns when an image is there, which is built of a folder, or, for "", its registry has.
// Each is built once. One that could not be built is not tried again by this process: all
// attempts at its task fail alike. The build goes on when ctx ends, for others.
func (m *Machine) Bring(ctx context.Context, name, folder string, limit time.Duration) error {
	s := &m.builds
	s.mu.Lock()
	if s.made[name] == nil {
		if s.made == nil {
			s.made = map[string]func() error{}
		}
		s.made[name] = sync.OnceValue(func() error {
			ctx, stop := context.WithTimeoutCause(s.ctx, Limit(limit), ErrPhase)
			defer stop()
			return m.Runtime.Image(ctx, name, folder)
		})
	}
	build := s.made[name]
	s.mu.Unlock()
	built := make(chan error, 1)
	go func() { built <- build() }()
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
