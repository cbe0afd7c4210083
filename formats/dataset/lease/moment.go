package lease

import (
	"time"
)

var processBegan = time.Now()

// Moment is a point in time on every available clock. They disagree after the
// machine slept, or the process was stopped.
type Moment struct {
	monotonic, wall time.Time
	up              time.Duration
}

// Now returns the current moment.
func Now() Moment {
	t := time.Now()
	return Moment{t, t.Round(0), uptime()}
}

// Late reports whether a lease that was last renewed at that moment must count as
// lost: well before others take its owner for dead (Silence).
func (m Moment) Late(ttl time.Duration) bool { return m.Since() > ttl*3/4 }

// Since returns the longest time that any of the clocks shows.
func (m Moment) Since() time.Duration {
	n := Now()
	wall := n.wall.Sub(m.wall)
	if wall < 0 { // set back: any time may have passed
		wall = -wall
	}
	return max(n.monotonic.Sub(m.monotonic), wall, n.up-m.up)
}
