// Package expr computes a reward by an expression in the language of
// expr-lang/expr, which always ends and reads only the trajectory.
//
//	expr:len(answer) < 100 ? 1 : 0
//	expr:example.target in split(answer, " ")
//	expr:0.8 * rewards.tree + 0.2 * (rewards.short ?? 0)
//	steps:any(replies, .content contains "error") ? -1 : 0
//
// The type environment lists what an expression may read. The result is a number, or a
// condition, which counts as 1 or 0. It is null if an earlier reward that the expression reads
// has no value, or a field of the example or the metadata is missing, unless the expression
// handles null itself, by ??, ?., in or nil. Kind steps gives every message that the model wrote
// a shaped reward, and the trajectory their sum; see stepEnvironment. Functions whose value
// differs from call to call (now, and those that list a map's entries) are not available; times
// are in UTC.
package expr

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/expr-lang/expr/file"

	"github.com/rollmill/rollmill/formats/expression"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
)

var Kind = score.RewardKind{Kind: plugin.Kind[score.RewardSettings]{
	Name: "expr",
	Help: "compute an expression over answer, example, messages, rewards, metadata, status, stop_reason and token counts",
	New:  func() score.RewardSettings { return &Settings{} },
}}

// Settings are the settings of both kinds.
type Settings struct {
	Expression string

	steps bool // it is over the single messages that the model wrote
}

func (s *Settings) Declare(d *plugin.Declarer) {
	d.String(&s.Expression, "expression", "compute this `EXPRESSION`, which gives a number or a condition").WholeSpec()
}

// Reward compiles the expression.
func (s *Settings) Reward(setup score.Setup) (score.Reward, error) {
	if !s.steps {
		return compile(s.Expression, setup, environment{})
	}
	r, err := compile(s.Expression, setup, stepEnvironment{})
	if err != nil {
		return nil, err
	}
	return &steps{r}, nil
}

type reward struct {
	program *expression.Program
	reads   reads
	known   []string
}

func compile(source string, s score.Setup, env any) (*reward, error) {
	if source == "" {
		return nil, fmt.Errorf("the expression is empty")
	}
	program, err := expression.Compile(source, env)
	if err != nil {
		return nil, err
	}
	r := &reward{program: program, known: s.Known, reads: readsOf(program.Node())}
	if err := numeric(program.Node().Type()); err != nil {
		return nil, err
	}
	for _, use := range r.reads.rewards {
		if !s.Partial && !slices.Contains(s.Known, use.name) {
			e := &file.Error{Location: use.at,
				Message: fmt.Sprintf("no reward %q is computed before this one (there are: %s)", use.name,
					strings.Join(s.Known, ", "))}
			return nil, e.Bind(program.Source())
		}
	}
	return r, nil
}

// numeric refuses an expression whose type is never a number.
func numeric(t reflect.Type) error {
	if t == nil {
		return nil
	}
	switch t.Kind() {
	case reflect.String, reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
		return fmt.Errorf("the expression gives a %s, not a number or a condition", t.Kind())
	}
	return nil
}

// Describe names the columns that the expression mentions, which have the names that they
// have in expressions, and the rewards: all, if it reads them other than by name.
func (r *reward) Describe() score.Description {
	d := score.Description{Detail: score.Light, Columns: append([]string{}, r.reads.names...), Immediate: true}
	switch {
	case r.reads.messages:
		d.Detail = score.Text
	case r.reads.example:
		d.Detail = score.Head
	}
	for _, use := range r.reads.rewards {
		d.Reads = append(d.Reads, use.name)
	}
	if r.reads.anyReward {
		d.Reads = r.known
	}
	return d
}

func (r *reward) Close() error { return nil }

func (r *reward) Score(ctx context.Context, rows []*score.Row, values []score.Value) error {
	env := new(environment) // of one row after the other
	return r.each(ctx, rows, values, func(e *expression.Evaluations, row *score.Row) score.Value {
		if failed := r.environment(row, env); failed.Failure != "" {
			return failed
		}
		return run(e, env)
	})
}

func (r *reward) each(ctx context.Context, rows []*score.Row, values []score.Value,
	value func(*expression.Evaluations, *score.Row) score.Value) error {
	e, err := r.program.Begin(ctx)
	if err != nil {
		return err
	}
	defer e.End()
	for i, row := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		values[i] = value(e, row)
	}
	return ctx.Err() // an evaluation that ctx ended is not a failure of its row
}

func (r *reward) environment(row *score.Row, env *environment) score.Value {
	if err := r.reads.environment(row, env); err != nil {
		return score.Failed(outcomes.RewardError, "%v", err)
	}
	if err := r.reads.missing(row); err != nil {
		return score.FieldFailed(err)
	}
	if name, null := r.reads.nullReward(row); null {
		return score.Failed(outcomes.RewardComponent, "reward %s has no value", name)
	}
	return score.Value{}
}

func run(e *expression.Evaluations, env any) score.Value {
	result, err := e.Run(env)
	if err != nil {
		return score.Failed(outcomes.RewardError, "%v", err)
	}
	if n, plain := result.(int); plain {
		return score.Value{Reward: float64(n)}
	}
	return number(result)
}

func number(result any) score.Value {
	switch v := reflect.ValueOf(result); {
	case !v.IsValid():
		return score.Failed(outcomes.RewardAnswer, "the expression gave null")
	case v.Kind() == reflect.Bool:
		if v.Bool() {
			return score.Value{Reward: 1}
		}
		return score.Value{}
	case v.CanInt():
		return score.Value{Reward: float64(v.Int())}
	case v.CanUint():
		return score.Value{Reward: float64(v.Uint())}
	case v.CanFloat():
		if f := v.Float(); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return score.Value{Reward: f}
		}
		return score.Failed(outcomes.RewardNotFinite, "the expression gave %v", result)
	default:
		return score.Failed(outcomes.RewardAnswer, "the expression gave %T and not a number", result)
	}
}
