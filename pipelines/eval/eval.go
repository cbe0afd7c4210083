package eval

import (
	"context"
	"fmt"
	"math"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Options select the examples and the measures.
type Options struct {
	stages.Env
	Root    string // URI of the folder for the datasets rollout and score
	Rollout rollout.Options
	Score   score.Options
	Measure MeasureOptions
}

// MeasureOptions configure the measures of scores.
type MeasureOptions struct {
	K             []int    // values for pass@k; nil for 1, 2, 4, ... up to the largest number of trajectories of an example
	Solved        float64  // a reward at or above it counts as solved
	Slices        []string // fields of the example, dots between the names of nested objects: a table for each
	Confidence    float64  // of the intervals; 0: 0.95
	Where         string   // only trajectories for which this expression is true; "": all
	FailuresCount bool     // trajectories without a reward count as unsolved in pass@k and solved
	AcceptGates   []string
}

// Validate checks the options before any model call.
func (o MeasureOptions) Validate() error {
	for _, k := range o.K {
		if k < 1 {
			return fault.Errorf(fault.Usage, "the minimum is pass@1", "eval: pass@%d", k)
		}
	}
	if o.Confidence < 0 || o.Confidence >= 1 || math.IsNaN(o.Confidence) {
		return fault.Errorf(fault.Usage, "0.95 is usual", "eval: a confidence of %v", o.Confidence)
	}
	if math.IsNaN(o.Solved) || math.IsInf(o.Solved, 0) {
		return fault.Errorf(fault.Usage, "give a finite number", "eval: a solved threshold of %v", o.Solved)
	}
	return nil
}

// Run runs the agent on the examples, scores the trajectories and measures. If it
// is run again, it continues where it stopped and repeats no trajectory.
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
