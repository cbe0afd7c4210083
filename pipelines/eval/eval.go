// Package eval measures a policy on held-out examples: rollout and score, and
// then the figures. It groups, curates and trains nothing; what it plays lies
// in two datasets of its own, rollout and score, that the other commands read
// like any.
//
// Trajectories of one example are not independent, so every interval is over
// the examples: the mean of the examples' means, with Student's t over their
// spread. pass@k is the mean over the examples of 1 - C(n-c,k)/C(n,k), where n
// of an example's trajectories have a reward and c of these reach the
// threshold; an example with fewer than k is left out and counted.
//
// A trajectory that failed, or has no reward, is no zero: it is left out and
// counted, unless Options.FailuresCount makes it an unsolved one.
//
// To add a figure: a field of Figures, and its line in figures and WriteText.
package eval

import (
	"context"
	"fmt"
	"math"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/storage"
)

// Options say what to play and what to make of it.
type Options struct {
	stages.Env
	Root    string // URI of the folder for datasets rollout and score
	Rollout rollout.Options
	Score   score.Options
	Measure MeasureOptions
}

// MeasureOptions say what to make of scores.
type MeasureOptions struct {
	K             []int    // of pass@k; nil: 1, 2, 4, ... up to the most trajectories of an example
	Solved        float64  // a reward at or above it counts as solved
	Slices        []string // fields of the example, dots between the names of nested objects: a table for each
	Confidence    float64  // of the intervals; 0: 0.95
	FailuresCount bool     // trajectories without a reward count as unsolved in pass@k and solved
	AcceptGates   []string
}

// Validate checks what can be checked before anything is paid for.
func (o MeasureOptions) Validate() error {
	for _, k := range o.K {
		if k < 1 {
			return usage("pass@1 is the least", "pass@%d", k)
		}
	}
	if o.Confidence < 0 || o.Confidence >= 1 || math.IsNaN(o.Confidence) {
		return usage("0.95 is usual", "a confidence of %v", o.Confidence)
	}
	if math.IsNaN(o.Solved) || math.IsInf(o.Solved, 0) {
		return usage("give a finite number", "a solved threshold of %v", o.Solved)
	}
	return nil
}

func usage(hint, format string, args ...any) error {
	return stages.Errorf(stages.KindUsage, hint, "eval: %w", fmt.Errorf(format, args...))
}

// Run plays the examples, scores what was played, and measures. Run again it
// goes on where it stopped, and plays nothing twice.
func Run(ctx context.Context, o Options) (*Result, error) {
	if err := o.Measure.Validate(); err != nil {
		return nil, err
	}
	played, scored := storage.Join(o.Root, "rollout"), storage.Join(o.Root, "score")
	o.Rollout.Env, o.Rollout.Out.URI = o.Env, played
	o.Score.Env, o.Score.In.URI, o.Score.Out.URI = o.Env, played, scored
	if err := o.Score.Validate(); err != nil {
		return nil, err
	}
	first, err := rollout.Run(ctx, o.Rollout)
	if err != nil {
		return nil, fmt.Errorf("rollout: %w", err)
	}
	second, err := score.Run(ctx, o.Score)
	if err != nil {
		return nil, fmt.Errorf("score: %w", err)
	}
	r, err := Measure(ctx, scored, o.Measure)
	if err != nil {
		return nil, err
	}
	r.Stages = []stages.Report{first, second}
	return r, nil
}
