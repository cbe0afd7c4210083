// Package monitors passes the figures of stages to the programs with which a team
// watches its jobs.
//
// A [Monitor] gets the [Figures] of each stage while it runs and when it has ended;
// no monitor reads a dataset. The figures are the ones that the user sees: the
// counters of the stage's meter, which the progress lines show, and the stage's
// report, which --json prints.
//
// To add one: a folder with [Settings] whose Open returns the Monitor, and a field and
// a line in package all. Every monitor is off by default, and one flag turns it on.
//
// No monitor can fail or slow a stage. A goroutine of its own calls it, with a
// deadline, and it gets the figures of that moment, so none wait for it. Its first
// error is logged as a warning, the others as debug messages, and none changes the
// exit code. At the end of a command a monitor has a few seconds for what is left.
package monitors

import (
	"context"
	"log/slog"
	"time"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Settings are the settings of a monitor. Their zero value is off.
type Settings interface {
	plugin.Settings

	// Open returns the monitor, or nil if it is off. An error is about a setting: the
	// command then does nothing.
	Open(Job) (Monitor, error)
}

// Job is what a monitor may use all the time.
type Job struct {
	Command string // as it is typed: rollout, job wait
	Shard   string // the index of this process among several; "" for all of the work
	Log     *slog.Logger
}

// Monitor passes figures on. Its methods are called by one goroutine, and end when
// ctx does.
type Monitor interface {
	// Name names it in messages.
	Name() string

	// Update gets the figures of a stage: when it has begun, every few seconds while
	// it runs, and once more when it has ended. A process may run several stages one
	// after the other, and the stages of several epochs.
	Update(ctx context.Context, f Figures) error

	// Close is called once, when the command has ended, also after a failure or an
	// interruption.
	Close(ctx context.Context, e End) error
}

// Keeper is a monitor that keeps the figures of every epoch, not only of the present
// one. Command report gives it those of a run's datasets, for runs that were not
// watched.
type Keeper interface {
	Monitor

	// Distribution gets the rewards of a stage, after its figures. It may do nothing.
	Distribution(ctx context.Context, f Figures) error
}

// Figures are the figures of one stage.
//
// While it runs, Progress has what its meter counts: rows done, failures, spend. When
// it has ended well, Report has what the stage reports. Its Counts, Drops and Failures
// are rows by state, reason and class, and its Facts are the sums of the manifest:
//
//	rollout   prompt_tokens, completion_tokens, sampled_tokens, calls, failed_calls
//	score     reward_sum over Counts["scored"] rows; for each reward rewards.NAME.sum
//	          over rewards.NAME.scored rows; judge.cost and the other judge figures
//	group     groups, groups_with_advantages, groups_flat, and scored, solved and
//	          reward_sum of their members
//	curate    groups, groups_kept, scored, reward_sum, kept_reward_sum over
//	          Counts["kept"] rows, kept_sampled_tokens, and those of the funnel
//	submit    the trainer's metrics, under its names
//
// A mean is a sum divided by its count; there is none where the count is 0.
type Figures struct {
	stages.Progress
	Report *stages.Report // nil while the stage runs, and if it failed
	At     time.Time      // of the figures

	Rewards []float64 // for Keeper.Distribution only
}

// End is how a command ended.
type End struct {
	stages.Place     // as far as the command line says
	ExitCode     int // 0 also when the work was done before
	Begun, At    time.Time
}
