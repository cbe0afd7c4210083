package harbor

import (
	"context"
	"sync"
	"time"

	"github.com/rollmill/rollmill/formats/foreign/harbor"
)

// images builds each image once. One that could not be built is not tried again by this
// process: all attempts at its task fail alike.
type images struct {
	runtime Runtime
	ctx     context.Context // ends all builds
	mu      sync.Mutex
	made    map[string]func() error
}

// get returns when the image is there. The build goes on when ctx ends, for others.
func (s *images) get(ctx context.Context, t harbor.Task) (name string, err error) {
	if name, err = t.ImageName(); err != nil {
		return "", err
	}
	s.mu.Lock()
	if s.made[name] == nil {
		if s.made == nil {
			s.made = map[string]func() error{}
		}
		folder := t.EnvironmentDir()
		if t.Environment.Image != "" {
			folder = ""
		}
		s.made[name] = sync.OnceValue(func() error {
			ctx, stop := context.WithTimeoutCause(s.ctx, limit(t.Environment.BuildTimeout), errPhase)
			defer stop()
			return s.runtime.Image(ctx, name, folder)
		})
	}
	build := s.made[name]
	s.mu.Unlock()
	built := make(chan error, 1)
	go func() { built <- build() }()
	select {
	case err = <-built:
		return name, err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// limit is a time limit of a task; 0 is none.
func limit(d time.Duration) time.Duration {
	if d <= 0 {
		return 365 * 24 * time.Hour
	}
	return d
}
