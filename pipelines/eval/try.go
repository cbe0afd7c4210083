package eval

import (
	"context"
	"errors"
	"fmt"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/pipelines/look/query"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/planning"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/storage"
)

// TryOptions are the settings of the stages as a run has them.
type TryOptions struct {
	stages.Env
	Folder   string      // for the datasets of the stages; the caller removes it
	Attempts int         // at each example
	Examples int         // how many, from the first on
	Order    query.Order // of the attempts in the result

	Rollout rollout.Options
	Score   score.Options
	Group   group.Options
}

// Try makes the attempts. It returns a result, without an error, also when every
// attempt failed: see [Result.Err].
func Try(ctx context.Context, o TryOptions) (*TryResult, error) {
	at := func(stage string) string { return storage.Join(o.Folder, stage) }
	r := o.Rollout
	r.Env, r.Out, r.Root = o.Env, stages.Output{URI: at("rollout")}, o.Folder
	r.Generations, r.Examples = o.Attempts, firstOf{r.Examples, o.Examples}
	r.MaxInitialFailures = -1
	s := o.Score
	s.Env, s.In.URI, s.Out = o.Env, at("rollout"), stages.Output{URI: at("score")}
	s.KeepBroken = true
	g := o.Group
	g.Env, g.In.URI, g.Out = o.Env, at("score"), stages.Output{URI: at("group")}
	if err := errors.Join(r.Validate(), s.Validate(), g.Validate()); err != nil {
		return nil, err
	}
	result := &TryResult{Per: o.Attempts, calls: map[string]float64{}}
	for _, stage := range []struct {
		name string
		run  func() (stages.Report, error)
	}{
		{"rollout", func() (stages.Report, error) { return rollout.Run(ctx, r) }},
		{"score", func() (stages.Report, error) { return score.Run(ctx, s) }},
		{"group", func() (stages.Report, error) { return group.Run(ctx, g) }},
	} {
		_, err := stage.run()
		if refused := (*manifest.GateError)(nil); errors.As(err, &refused) {
			err = nil
			for _, gate := range refused.Gates {
				one := manifest.GateError{URI: stage.name, Gates: []manifest.GateResult{gate}}
				result.Gates = append(result.Gates, one.Error())
				s.In.AcceptGates = append(s.In.AcceptGates, gate.Name)
				g.In.AcceptGates = append(g.In.AcceptGates, gate.Name)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", stage.name, err)
		}
	}
	if err := result.read(ctx, at("group"), o); err != nil {
		return nil, err
	}
	spent := s.Judging.Ledger.Spent()
	result.Cost.JudgeTokens, result.Cost.JudgeMoney = spent.Tokens(), spent.Cost
	result.extrapolate(o.Rollout)
	return result, nil
}

// firstOf is the first examples of a list.
type firstOf struct {
	planning.Examples
	n int
}

func (f firstOf) Len() int { return min(f.n, f.Examples.Len()) }

func (f firstOf) Find(id string) (int, bool, error) {
	i, ok, err := f.Examples.Find(id)
	return i, ok && i < f.Len(), err
}
