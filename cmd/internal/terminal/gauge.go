package terminal

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rollmill/rollmill/formats/plural"
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

// UnitBytes is the unit of the meter of a command that has no other.
const UnitBytes = "bytes"

// head is the text before a bar: what is done.
func (s state) head() string {
	if s.Total > 0 {
		return fmt.Sprintf("%s: %d of %d %s (%d%%)", s.name(), s.Done, s.Total, s.Unit, 100*s.Done/s.Total)
	}
	if s.Unit == UnitBytes {
		return fmt.Sprintf("%s: %s read or written", s.name(), megabytes(float64(s.Done)))
	}
	return fmt.Sprintf("%s: %d %s", s.name(), s.Done, s.Unit)
}

// tail is the text after it, which begins with a comma or is empty.
func (s state) tail() string {
	var parts []string
	say := func(when bool, format string, args ...any) {
		if when {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	say(s.rate > 0 && s.Unit != UnitBytes, "%.3g/s", s.rate)
	say(s.rate > 0 && s.Unit == UnitBytes, "%s/s", megabytes(s.rate))
	say(s.left > 0, "%s left", rounded(s.left))
	say(s.Retries > 0, "%s", plural.Of(s.Retries, "retry"))
	say(s.Spend.Tokens() > 0, "%s", plural.Of(s.Spend.Tokens(), "token"))
	say(s.Spend.Cost > 0, "cost %.4g", s.Spend.Cost)
	say(s.failed() > 0, "%d failed (%s)", s.failed(), Tally(s.Failures))
	say(s.Note != "", "%s", s.Note)
	if parts == nil {
		return ""
	}
	return ", " + strings.Join(parts, ", ")
}

func (s state) line() string { return s.head() + s.tail() }

// Tally returns a list of counts, the largest first.
func Tally(counts map[string]int64) string {
	return plural.Counts(counts, func(name string, n int64) string { return fmt.Sprintf("%s %d", name, n) })
}

func megabytes(n float64) string { return fmt.Sprintf("%.1f MB", n/1e6) }

// rounded returns a time left: to the second, or to the minute if it is long.
func rounded(d time.Duration) string {
	if d > 10*time.Minute {
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return d.Round(time.Second).String()
}
