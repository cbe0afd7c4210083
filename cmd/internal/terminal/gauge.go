package terminal

import (
	"sync"
	"time"

	"github.com/rollmill/rollmill/stages"
)

// window is the time over which the rate is measured.
const window = 30 * time.Second

// gauge measures the rate of a meter.
type gauge struct {
	meter *stages.Meter
	unit  string

	bar  *bar      // nil while there is none
	next time.Time // of the next line
	gap  time.Duration

	mu    sync.Mutex
	ticks []tick // of the window, the oldest first
}

type tick struct {
	at   time.Time
	done int64
}

// sample remembers how much is done now.
func (g *gauge) sample(now time.Time) {
	p := g.meter.Progress()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ticks = append(g.ticks, tick{now, p.Done - p.Skipped})
	for len(g.ticks) > 2 && now.Sub(g.ticks[1].at) >= window {
		g.ticks = g.ticks[1:]
	}
}

// state returns the present state.
func (g *gauge) state() state { return g.stateAt(time.Now()) }

func (g *gauge) stateAt(now time.Time) state {
	s := state{Progress: g.meter.Progress()}
	g.mu.Lock()
	defer g.mu.Unlock()
	from := tick{s.Begun, 0}
	if len(g.ticks) > 0 && now.Sub(s.Begun) > window {
		from = g.ticks[0]
	}
	if passed := now.Sub(from.at).Seconds(); passed > 0 {
		s.rate = float64(s.Done-s.Skipped-from.done) / passed
	}
	if rest := float64(s.Total-s.Done) / s.rate; s.rate > 0 && rest > 0 && rest < 1e6*time.Hour.Seconds() {
		s.left = time.Duration(rest * float64(time.Second))
	}
	return s
}
