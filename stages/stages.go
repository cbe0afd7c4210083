// Package stages defines the input and the guarantees of every stage of the epoch.
//
// A stage is a function Run(ctx, Options) (Report, error) in its own folder: it reads datasets,
// writes one new dataset, and reports. Stages meet only through datasets and never import one
// another. Running a stage twice has the effect of running it once.
//
// To add a stage: a folder with Options, whose Validate reports invalid options
// before any work, and Run; tests that two shards give the rows of one and that
// a second run does nothing; and a command in cmd/rollmill.
package stages

import (
	"log/slog"
	"sync/atomic"
	"time"
)

// Env is what the process gives a stage. Its zero value works.
type Env struct {
	Log      *slog.Logger     // nil: nothing is logged
	Progress Progressing      // nil: nothing is shown
	Now      func() time.Time // nil: time.Now
	Place    Place            // of the stage's rows
	Retries  *atomic.Int64    // the process's counter, see CountRetries; nil: none
}

// Progressing gets each meter that begins. It returns a function to be called when
// the meter ends, or nil.
type Progressing func(*Meter) (ended func())

// Logger returns e.Log or a logger that discards.
func (e Env) Logger() *slog.Logger {
	if e.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return e.Log
}

// Meter begins to count progress; total 0 means unknown.
func (e Env) Meter(stage, unit string, total int64) *Meter {
	if e.Progress == nil {
		return nil
	}
	m := &Meter{begun: time.Now(), fixed: Progress{Place: e.Place, Stage: stage, Unit: unit, Total: total},
		retries: e.Retries}
	m.before = m.repeated()
	m.end = e.Progress(m)
	return m
}

// Clock returns the time.
func (e Env) Clock() time.Time {
	if e.Now == nil {
		return time.Now()
	}
	return e.Now()
}

// Shard says which slice of a stage's work to do; the zero value is all of it.
type Shard struct{ Index, Count int }

// Of returns the shard with its defaults: 0 of 1.
func (s Shard) Of() Shard {
	if s.Count == 0 {
		return Shard{0, 1}
	}
	return s
}

// Output is where and how a stage writes its dataset.
type Output struct {
	URI       string
	Shard     Shard
	Overwrite bool // replace a dataset of another identity
}

// Input names a dataset to read.
type Input struct {
	URI         string
	AcceptGates []string // read it although these gates refused it
}
