package query

import (
	"context"
	"fmt"
	"reflect"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/expression"
)

// WhereError is the error of a condition: it does not compile, or fails for a row.
type WhereError struct {
	Where string
	Place string // the trajectory or the group for which it fails
	Err   error  // says where in the text
}

func (e *WhereError) Error() string {
	if e.Place != "" {
		return fmt.Sprintf("the condition %q fails for %s: %v", e.Where, e.Place, e.Err)
	}
	return fmt.Sprintf("the condition %q: %v", e.Where, e.Err)
}

func (e *WhereError) Unwrap() []error { return []error{formats.ErrInvalid, e.Err} }

// Hint shows what a condition looks like.
func (e *WhereError) Hint() string {
	return "write a condition such as reward > 0.5 && sampled_tokens < 4000"
}

// matching returns the rows for which a condition is true, nil for all. It reads the
// dataset again if the condition is about columns that the index does not have.
func (x *Index) matching(ctx context.Context, where string) (set, error) {
	if where == "" {
		return nil, nil
	}
	return x.finds.Of(where, func() (set, error) {
		p, err := expression.Condition(where, expression.Row{})
		if err != nil {
			return nil, &WhereError{Where: where, Err: err}
		}
		reads := expression.Reads(p)
		c := &condition{where, p, x.fillers(reads)}
		if reads("answer") || reads("metadata") || reads("messages") || reads("calls") {
			return x.scan(ctx, c, reads)
		}
		return parallel(ctx, x.Rows, func(ctx context.Context, from, to uint32, out set) error {
			var r expression.Row
			for row := from; row < to; row++ {
				if err := c.row(ctx, x, &r, row, out); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

type condition struct {
	text string
	p    *expression.Program
	fill []filler // of a row
}

// row adds a row to a set if the condition is true for it.
func (c *condition) row(ctx context.Context, x *Index, r *expression.Row, row uint32, out set) error {
	for _, set := range c.fill {
		set(r, row)
	}
	return c.judge(ctx, r, row, func() string { return x.ids.of(row) }, out)
}

// judge adds a row or a group to a set if the condition is true for it.
func (c *condition) judge(ctx context.Context, env any, i uint32, id func() string, out set) error {
	v, err := c.p.Run(ctx, env)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return &WhereError{c.text, id(), err}
	}
	if yes, _ := v.(bool); yes {
		out.add(i)
	}
	return nil
}

// chunkRows are judged by one goroutine at a time; they share no word of a set.
const chunkRows = 1 << 14

// parallel calls f with ranges of the numbers under n, on all processors.
func parallel(ctx context.Context, n uint32, f func(ctx context.Context, from, to uint32, out set) error) (set, error) {
	out := newSet(n)
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(runtime.GOMAXPROCS(0))
	for from := uint32(0); from < n; from += chunkRows {
		all.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return f(ctx, from, min(n, from+chunkRows), out)
		})
	}
	return out, all.Wait()
}

// filler sets a field of what an expression reads of a row.
type filler func(r *expression.Row, row uint32)

// fillers returns what sets the fields that an expression reads, except for those that
// the index does not have.
func (x *Index) fillers(reads func(string) bool) (out []filler) {
	for _, f := range []struct {
		name string
		set  filler
	}{
		{"trajectory_id", func(r *expression.Row, row uint32) { r.TrajectoryID = x.ids.of(row) }},
		{"run", func(r *expression.Row, row uint32) { r.Run = x.run.of(row) }},
		{"example_id", func(r *expression.Row, row uint32) { r.ExampleID = x.examples.of(row) }},
		{"group_id", func(r *expression.Row, row uint32) { r.GroupID = x.groups.of(row) }},
		{"epoch", func(r *expression.Row, row uint32) { r.Epoch = int(x.epoch.of(row)) }},
		{"generation", func(r *expression.Row, row uint32) { r.Generation = int(x.generation.of(row)) }},
		{"status", func(r *expression.Row, row uint32) { r.Status = x.status.of(row) }},
		{"stop_reason", func(r *expression.Row, row uint32) { r.StopReason = x.stop.of(row) }},
		{"failure_class", func(r *expression.Row, row uint32) { r.FailureClass = x.failure.of(row) }},
		{"model", func(r *expression.Row, row uint32) { r.Model = x.model.of(row) }},
		{"reward", func(r *expression.Row, row uint32) { r.Reward = x.reward[row] }},
		{"advantage", func(r *expression.Row, row uint32) { r.Advantage = x.advantage[row] }},
		{"prompt_tokens", func(r *expression.Row, row uint32) { r.PromptTokens = int(x.prompt[row]) }},
		{"completion_tokens", func(r *expression.Row, row uint32) { r.CompletionTokens = int(x.completion[row]) }},
		{"sampled_tokens", func(r *expression.Row, row uint32) { r.SampledTokens = int(x.sampled[row]) }},
		{"policy_version", func(r *expression.Row, row uint32) { r.PolicyVersion = int(x.policy.of(row)) }},
		{"rewards", x.fillRewards},
	} {
		if reads(f.name) {
			out = append(out, f.set)
		}
	}
	return out
}

func (x *Index) fillRewards(r *expression.Row, row uint32) {
	if r.Rewards == nil {
		r.Rewards = map[string]float64{}
	}
	clear(r.Rewards)
	for _, c := range x.components {
		if v := c.values[row]; v == v { // not NaN
			r.Rewards[c.name] = v
		}
	}
}

// TrajectoryNames returns what a condition about trajectories can read.
func TrajectoryNames() []string { return namesOf(reflect.TypeFor[expression.Row]()) }

func namesOf(t reflect.Type) (out []string) {
	for _, f := range reflect.VisibleFields(t) {
		if name := f.Tag.Get("expr"); name != "" {
			out = append(out, name)
		}
	}
	return out
}
