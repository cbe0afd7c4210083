package terminal

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/rollmill/rollmill/stages"
)

const (
	patience  = 2 * time.Second  // before a bar
	pulse     = time.Second      // between two looks at the meters
	firstLine = 15 * time.Second // before a line, when stderr is not a terminal
	longGap   = time.Minute      // the longest time between two lines
)

// board shows the meters of a command: on a terminal a bar for each, else a line now
// and then. Meters that end soon are not shown.
type board struct {
	s     *Console
	begun time.Time

	mu      sync.Mutex
	gauges  []*gauge // of meters that have not ended
	looking bool     // a goroutine looks at them
	command string
}

// Begin shows a meter, and returns a function that ends that.
func (b *board) Begin(m *stages.Meter) (end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := &gauge{meter: m, unit: m.Progress().Unit, next: time.Now().Add(firstLine), gap: firstLine}
	b.gauges = append(b.gauges, g)
	if !b.looking {
		b.looking = true
		go b.look()
	}
	return func() { b.end(g) }
}

// end shows a meter no longer. Nothing is printed, because a summary follows.
func (b *board) end(g *gauge) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gauges = slices.DeleteFunc(b.gauges, func(o *gauge) bool { return o == g })
	if g.bar != nil {
		g.bar.end()
		g.bar = nil
	}
}

func (b *board) Close() {
	b.mu.Lock()
	all := slices.Clone(b.gauges)
	b.mu.Unlock()
	for _, g := range all {
		b.end(g)
	}
}

// look updates what is shown, until no meter is left.
func (b *board) look() {
	tick := time.NewTicker(pulse)
	defer tick.Stop()
	for b.update(<-tick.C) {
	}
}

// update shows the present state, and reports whether there is any.
func (b *board) update(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	shown := b.shown()
	for _, g := range b.gauges {
		g.sample(now)
		switch {
		case !slices.Contains(shown, g):
		case b.s.Quiet:
		case b.s.Stderr.terminal && !b.s.LogJSON:
			if g.bar == nil && now.Sub(g.meter.Progress().Begun) >= patience {
				g.bar = b.s.Stderr.bar(g)
			}
			if g.bar != nil {
				g.bar.set(g.state())
			}
		case !now.Before(g.next):
			g.gap = min(2*g.gap, longGap)
			g.next = now.Add(g.gap)
			b.print(g.state())
		}
	}
	b.looking = len(b.gauges) > 0
	return b.looking
}

// shown returns the gauges to show: that of bytes only if there is no other.
func (b *board) shown() []*gauge {
	if len(b.gauges) < 2 {
		return b.gauges
	}
	return slices.DeleteFunc(slices.Clone(b.gauges), func(g *gauge) bool { return g.unit == UnitBytes })
}

// print prints a state, also with --quiet.
func (b *board) print(s state) {
	b.say(s.line(), "progress", s.attrs()...)
}

func (b *board) say(line, message string, attrs ...any) {
	if b.s.LogJSON {
		b.s.leveled(0).Info(message, attrs...)
		return
	}
	fmt.Fprintln(b.s.Stderr, line)
}

// Answer prints the progress of a command each time somebody asks, until ctx ends.
func (b *board) Answer(ctx context.Context, command string, asks <-chan os.Signal) {
	b.command = command
	go func() {
		for {
			select {
			case <-asks:
				b.printState()
			case <-ctx.Done():
				return
			}
		}
	}()
}

// printState prints the state of every meter that has not ended, whatever the flags say.
func (b *board) printState() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, g := range b.shown() {
		g.sample(time.Now())
		b.print(g.state())
	}
	if len(b.gauges) > 0 {
		return
	}
	text := fmt.Sprintf("%s: has run for %s; nothing is counted now", b.command, time.Since(b.begun).Round(time.Second))
	b.say(text, text)
}
