package stages

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// Meter counts the progress of one stage, or of another command that reads much.
// It shows nothing itself: whoever Env.Progress hands it to reads [Meter.Progress]
// when it likes. It is safe for concurrent use, and a nil Meter counts nothing.
type Meter struct {
	begun time.Time
	fixed Progress // what does not change

	done, skipped atomic.Int64

	retries *atomic.Int64 // of the process; nil: not counted
	before  int64         // when the meter began

	end func() // nil for nothing

	mu       sync.Mutex
	note     string
	failures map[string]int64
	spend    func() Spend
	ended    time.Time
}

// Place is the epoch that a stage works on. It is for people and monitors: no
// stage reads it, and no row depends on it.
type Place struct {
	Run        string // its name; "" if unknown
	Epoch      *int   // nil if unknown
	Validation bool   // held-out examples
}

// Equal reports whether two places are the same.
func (p Place) Equal(o Place) bool {
	same := (p.Epoch == nil) == (o.Epoch == nil) && (p.Epoch == nil || *p.Epoch == *o.Epoch)
	return same && p.Run == o.Run && p.Validation == o.Validation
}

// Progress is the state of a meter.
type Progress struct {
	Place
	Stage, Unit string // unit is a plural: trajectories
	Total       int64  // 0 if unknown
	Done        int64
	Skipped     int64  // of Done, what was done before the meter began
	Note        string // what the stage does now; "" for its usual work

	Failures map[string]int64 // of this run, by class
	Spend    Spend            // with what earlier runs of the same command paid, where the stage knows that
	Retries  int64            // of requests to services and stores

	Begun time.Time
	Ended time.Time // zero while the stage runs
}

// Spend is what calls to models cost.
type Spend struct {
	PromptTokens, CompletionTokens int64
	Cost                           float64 // in whatever the prices are in, of models that have one; 0 without prices
}

// Tokens returns the sum of prompt and completion tokens.
func (s Spend) Tokens() int64 { return s.PromptTokens + s.CompletionTokens }

// Add counts what is done.
func (m *Meter) Add(n int64) {
	if m != nil {
		m.done.Add(n)
	}
}

// Skip counts what an earlier run of the same command did. It is part of what is
// done, and not of the rate.
func (m *Meter) Skip(n int64) {
	if m != nil {
		m.skipped.Add(n)
		m.done.Add(n)
	}
}

// Note sets a short note, which replaces the last one.
func (m *Meter) Note(text string) {
	if m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.note = text
	}
}

// Failed counts a failure by its class; "" is none.
func (m *Meter) Failed(class string) {
	if m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		Count(&m.failures, class, 1)
	}
}

// Spending sets the function that returns what the stage has spent. The meter
// calls it from any goroutine, also when the stage has ended.
func (m *Meter) Spending(f func() Spend) {
	if m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.spend = f
	}
}

// Done ends the meter; a second call changes nothing.
func (m *Meter) Done() {
	if m == nil {
		return
	}
	m.mu.Lock()
	first := m.ended.IsZero()
	if first {
		m.ended, m.fixed.Retries = time.Now(), m.repeated()
	}
	m.mu.Unlock()
	if first && m.end != nil {
		m.end()
	}
}

// Progress returns the present state.
func (m *Meter) Progress() Progress {
	if m == nil {
		return Progress{}
	}
	m.mu.Lock()
	p, spend := m.fixed, m.spend
	p.Note, p.Failures, p.Begun, p.Ended = m.note, maps.Clone(m.failures), m.begun, m.ended
	m.mu.Unlock()
	p.Skipped, p.Done = m.skipped.Load(), m.done.Load()
	if p.Ended.IsZero() {
		p.Retries = m.repeated()
	}
	if spend != nil {
		p.Spend = spend()
	}
	return p
}

func (m *Meter) repeated() int64 {
	if m.retries == nil {
		return 0
	}
	return m.retries.Load() - m.before
}
