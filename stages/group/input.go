package group

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage/fault"
)

// input is what is grouped: scores with their base, or a wide dataset with rewards of its own.
type input struct {
	rows *dataset.Dataset // where rewards are read
	base *dataset.Dataset
	more []*dataset.Dataset // further scores, whose rewards join those of rows
	by   *By                // nil: by example
	from *dataset.Dataset   // groups whose baselines are continued; else nil
}

// row has the columns that scores and wide rows share; no others are read.
type row struct {
	ids
	TrajectoryID  string                `parquet:"trajectory_id"`
	Generation    int32                 `parquet:"generation,delta"`
	Status        string                `parquet:"status,dict"`
	Reward        *float64              `parquet:"reward,optional"`
	Rewards       []formats.NamedReward `parquet:"rewards,list"`
	ShapedRewards []float64             `parquet:"shaped_rewards,optional,list"`
}

func openInput(ctx context.Context, o *Options) (*input, error) {
	d, err := dataset.Open(ctx, o.In.URI, dataset.OpenOptions{AcceptGates: o.In.AcceptGates})
	if err != nil {
		return nil, err
	}
	if d.Kind != schema.KindScores && d.Kind != schema.KindTrajectories {
		return nil, fault.Invalid(d.URI(), "give group the dataset that score wrote", nil,
			"it holds %s, which have no rewards to group by", d.Kind)
	}
	base, err := d.OpenBase(ctx)
	if err != nil {
		return nil, err
	}
	if base.Rows != d.Rows {
		return nil, fault.Invalid(d.URI(), "score the trajectories again", nil, "it has %d rows and its base %q has %d",
			d.Rows, base.URI(), base.Rows)
	}
	if n := base.Facts[formats.FactMixedPrompts]; n > 0 {
		o.Logger().Warn("members of some groups have different first prompts, so that their rewards are of different tasks, unless only "+
			"a date or the like differs; audit names the groups", "groups", n)
	}
	in := &input{rows: d, base: base}
	if o.By != "" {
		if in.by, err = NewBy("--by", o.By); err != nil {
			return nil, err
		}
	}
	return in, in.join(ctx, o.Scores)
}

// join opens further scores of the same trajectories.
func (src *input) join(ctx context.Context, scores []stages.Input) error {
	if len(scores) > 0 && src.rows == src.base {
		return usage("name scores with --in, and the others with --scores",
			"group: %q holds trajectories, and --scores joins scores to scores", src.rows.URI())
	}
	for _, s := range scores {
		d, err := dataset.Open(ctx, s.URI, dataset.OpenOptions{AcceptGates: s.AcceptGates, Kind: schema.KindScores})
		if err != nil {
			return err
		}
		if mine, other := dataset.RunOf(src.rows, src.base).ID, dataset.RunOf(d).ID; mine != "" && other != "" && mine != other {
			return fault.Invalid(d.URI(), "group the scores of each run by themselves", nil,
				"it scores the trajectories of another run than %q does", src.rows.URI())
		}
		if !src.base.Is(d.Base) || d.Rows != src.base.Rows {
			return fault.Invalid(d.URI(), "give scores of one dataset of trajectories", nil,
				"it does not score the trajectories that %q does", src.rows.URI())
		}
		src.more = append(src.more, d)
	}
	return nil
}

// continues adds the baselines that an estimator continues from.
func (src *input) continues(ctx context.Context, o *Options, baselines map[string]float64) (err error) {
	if o.From == "" {
		return nil
	}
	if src.from, err = dataset.Open(ctx, o.From, dataset.OpenOptions{AcceptGates: o.In.AcceptGates, Kind: schema.KindGroups}); err != nil {
		return err
	}
	var s training.GroupState
	if err := json.Unmarshal(src.from.State, &s); err != nil || s.Estimator != o.Estimator.Name {
		return fault.Invalid(src.from.URI(), "name groups of the same estimator", err,
			"--rae-from: it has no baselines of estimator %s", o.Estimator.Name)
	}
	maps.Copy(baselines, s.Baselines)
	return nil
}

func (src *input) spec(o *Options) manifest.Spec {
	base := src.base.Ref("base", o.Out.URI)
	inputs := []manifest.Ref{base}
	if src.rows != src.base {
		inputs = append(inputs, src.rows.Ref("scores", o.Out.URI))
	}
	for _, d := range src.more {
		inputs = append(inputs, d.Ref("scores", o.Out.URI))
	}
	if src.from != nil {
		inputs = append(inputs, src.from.Ref("baselines", o.Out.URI))
	}
	return manifest.Spec{
		Stage: stage, Version: version, Kind: schema.KindGroups, Params: o.params(),
		Inputs: inputs, Base: &base, Run: dataset.RunOf(src.rows, src.base), Columns: src.base.Columns,
		Gates: o.gates(),
	}
}

// ids are the columns that make groups by example; forks of one prefix are a group of their own.
type ids struct {
	ExampleID  string `parquet:"example_id,dict"`
	Epoch      int32  `parquet:"epoch,delta"`
	ForkedFrom string `parquet:"forked_from,optional"`
	ForkCall   *int32 `parquet:"fork_call,optional"`
}

func (r *row) of() *ids { return &r.ids }

// member returns the row as a member, which shares the data behind pointers.
func (r *row) member(group string) formats.Member {
	return formats.Member{
		TrajectoryID: r.TrajectoryID, ExampleID: r.ExampleID, GroupID: group, Epoch: r.Epoch, Generation: r.Generation,
		ForkedFrom: r.ForkedFrom, ForkCall: r.ForkCall, Status: r.Status, Reward: r.Reward, Rewards: r.Rewards,
		ShapedRewards: r.ShapedRewards,
	}
}

func (src *input) badMember(bad *BadMember, trajectory string, row int64) error {
	return fault.Invalid(src.rows.URI(), bad.Hint, nil, "trajectory %q: %v", trajectory, bad).InRow(row)
}
