// Package randomtest makes synthetic rows of every kind, for tests and benchmarks:
// Zipf text, BPE-like token ids that match the text, log probabilities with the
// mantissas of a real engine's (a bf16 logit minus an fp32 logsumexp), and
// whole groups that share a prompt.
//
// A group depends only on (seed, its index) and the options, so any slice of a
// dataset can be made anywhere; Trajectories, Scores and Members of one seed
// and options match row by row. It does not model language: the text means
// nothing, and real text has other compression ratios.
//
// To add a row kind: derive what its rows share with others from head, so that
// it agrees with the other kinds.
package randomtest

import (
	"cmp"
	"iter"

	"github.com/rollmill/rollmill/formats"
)

// Options say how many rows and of what size. The zero value is one group of
// eight rows of about 28 kB, all complete and without rewards.
type Options struct {
	Groups        int     // default 1
	Generations   int     // rows a group; default 8
	Messages      int     // a trajectory, on average; default 10, at least 3
	SampledTokens int     // a trajectory, on average; default 1540
	PromptTokens  int     // a trajectory, on average: system, user and tool messages; default 750
	Epoch         int     // of every row
	Run           string  // default "random"
	Scored        bool    // trajectories carry rewards
	Failures      float64 // share of rows that failed, were truncated or skipped (a third each)
	Unscored      float64 // share of the other rows that have no reward
	Branches      float64 // share of trajectories with a second branch
	NoTokens      bool    // the engine returned neither ids nor log probabilities
}

func (o Options) defaults() Options {
	o.Groups, o.Generations, o.Messages = cmp.Or(o.Groups, 1), cmp.Or(o.Generations, 8), max(cmp.Or(o.Messages, 10), 3)
	o.SampledTokens, o.PromptTokens = cmp.Or(o.SampledTokens, 1540), cmp.Or(o.PromptTokens, 750)
	o.Run = cmp.Or(o.Run, "random")
	return o
}

// Trajectories yields wide rows, one group at a time. The caller may keep the
// rows; their payload digests are set.
func Trajectories(seed int64, o Options) iter.Seq[[]formats.Trajectory] {
	return groups(o, func(i int) []formats.Trajectory { return Group(seed, i, o) })
}

// Group returns the i-th group that Trajectories yields.
func Group(seed int64, i int, o Options) []formats.Trajectory {
	o = o.defaults()
	w := newWriter(seed, i, o)
	rows := make([]formats.Trajectory, o.Generations)
	for g := range rows {
		w.trajectory(&rows[g], newHead(seed, i, g, o))
	}
	return rows
}

// Scores yields the thin rows that score would write for Trajectories.
func Scores(seed int64, o Options) iter.Seq[[]formats.Score] {
	return groups(o, func(i int) []formats.Score {
		o := o.defaults()
		rows := make([]formats.Score, o.Generations)
		for g := range rows {
			rows[g] = newHead(seed, i, g, o).score()
		}
		return rows
	})
}

// Members yields the thin rows that group would write for Scores: an advantage
// is the reward minus the mean of the group's rewards, divided by their
// population standard deviation plus 1e-6.
func Members(seed int64, o Options) iter.Seq[[]formats.Member] {
	return groups(o, func(i int) []formats.Member {
		o := o.defaults()
		rows := make([]formats.Member, o.Generations)
		for g := range rows {
			rows[g] = newHead(seed, i, g, o).member()
		}
		advantages(rows)
		return rows
	})
}

func groups[T any](o Options, group func(i int) []T) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for i := range o.defaults().Groups {
			if !yield(group(i)) {
				return
			}
		}
	}
}
