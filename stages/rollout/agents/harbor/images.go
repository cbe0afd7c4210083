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
	mu      sync.Mutex
	made    map[string]*image
	stop    []context.CancelFunc
}

type image struct {
	done chan struct{}
	err  error
}

// get returns when the image is there. The build goes on when ctx ends, for others.
func (s *images) get(ctx context.Context, t harbor.Task) (name string, err error) {
	if name, err = t.ImageName(); err != nil {
		return "", err
	}
	s.mu.Lock()
	i, ok := s.made[name]
	if !ok {
		i = &image{done: make(chan struct{})}
		if s.made == nil {
			s.made = map[string]*image{}
		}
		s.made[name] = i
		building, stop := context.WithTimeoutCause(context.WithoutCancel(ctx), limit(t.Environment.BuildTimeout), errPhase)
		s.stop = append(s.stop, stop)
		go func() {
			defer close(i.done)
			folder := t.EnvironmentDir()
			if t.Environment.Image != "" {
				folder = ""
			}
			i.err = s.runtime.Image(building, name, folder)
		}()
	}
	s.mu.Unlock()
	select {
	case <-i.done:
		return name, i.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func (s *images) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stop := range s.stop {
		stop()
	}
}

// limit is a time limit of a task; 0 is none.
func limit(d time.Duration) time.Duration {
	if d <= 0 {
		return 365 * 24 * time.Hour
	}
	return d
}
