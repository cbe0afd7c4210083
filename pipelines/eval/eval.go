// Package eval measures a policy on held-out examples: it runs rollout and score
// and computes figures. It does not group, curate or train. The trajectories and
// scores are in two ordinary datasets, rollout and score, which the other commands
// can read.
//
// Trajectories of one example are not independent, so every interval is over
// the examples: the mean of the examples' means, with Student's t over their
// spread. pass@k is the mean over the examples of 1 - C(n-c,k)/C(n,k), where n
// of an example's trajectories have a reward and c of these reach the
// threshold. An example with fewer than k is excluded and counted. The interval of
// one example is Wilson's, over its attempts, and so is that of a rate that is 0 or 1 in
// every example, over the examples.
//
// A trajectory that failed or has no reward is not counted as 0: it is excluded,
// and the number of such trajectories is reported. With
// MeasureOptions.FailuresCount it counts as an unsolved attempt.
//
// To add a figure, add a field to Figures, and a line in figures and WriteText.
//
// # Try
//
// Try makes a few attempts at the first examples of a run, before an epoch
// is paid for. It runs rollout, score and group with the run's own settings, in a
// folder that its caller removes. It reports the result of each attempt and what
// an epoch would cost. It has no rollout, reward or estimator of its own, and
// trains nothing.
//
// Gates refuse nothing here, because users who try settings must see the dataset
// that a gate would refuse. TryResult.Gates has what the gates would have reported.
//
// To add a figure, add a field to Attempt or TryResult and a line to try_text.go.
package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/rollmill/rollmill/formats/prices"
	"github.com/rollmill/rollmill/pipelines/look/query"
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
	Prices        prices.Table
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
	_, err := query.Parse(o.Where, "", false)
	return err
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
	if err := o.checkSlices(); err != nil {
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

// checkSlices refuses a field that no example has, before attempts are paid for.
func (o Options) checkSlices() error {
	for _, field := range o.Measure.Slices {
		var fields map[string]any
		for i := 0; i < o.Rollout.Examples.Len() && at(fields, field) == ""; i++ {
			e, err := o.Rollout.Examples.At(i)
			if err != nil {
				return err
			}
			clear(fields)
			_ = json.Unmarshal(e.Fields, &fields) // examples are objects
		}
		if fields != nil && at(fields, field) == "" {
			return noField(field, fields)
		}
	}
	return nil
}
