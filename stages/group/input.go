package group

import (
	"context"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
)

// input is what is grouped: scores beside their base, or a wide dataset that
// has rewards of its own.
type input struct {
	rows *dataset.Dataset // where rewards are read
	base *dataset.Dataset
	by   *by // nil: by example
}

// row has the columns that scores and wide rows share, and nothing else is read.
type row struct {
	TrajectoryID  string                `parquet:"trajectory_id"`
	ExampleID     string                `parquet:"example_id,dict"`
	Epoch         int32                 `parquet:"epoch,delta"`
	Generation    int32                 `parquet:"generation,delta"`
	Status        string                `parquet:"status,dict"`
	Reward        *float64              `parquet:"reward,optional"`
	Rewards       []formats.NamedReward `parquet:"rewards,list"`
	ShapedRewards []float64             `parquet:"shaped_rewards,optional,list"`
}

func openInput(ctx context.Context, o *Options) (*input, error) {
	in := o.In
	d, err := dataset.Open(ctx, in.URI, dataset.OpenOptions{AcceptGates: in.AcceptGates})
	if err != nil {
		return nil, err
	}
	if d.Kind != formats.KindScores && d.Kind != formats.KindTrajectories {
		return nil, formats.Invalid(d.URI(), "give group the dataset that score wrote", nil, "it holds %s, which have no rewards to group by", d.Kind)
	}
	base, err := d.OpenBase(ctx)
	if err != nil {
		return nil, err
	}
	if base.Rows != d.Rows {
		return nil, formats.Invalid(d.URI(), "score the trajectories again", nil, "it has %d rows and its base %q has %d", d.Rows, base.URI(), base.Rows)
	}
	by, err := newBy(o.By)
	return &input{d, base, by}, err
}

// spec is what decides the rows.
func (in *input) spec(o *Options) dataset.Spec {
	base := in.base.Ref("base", o.Out.URI)
	inputs := []dataset.Ref{base}
	if in.rows != in.base {
		inputs = append(inputs, in.rows.Ref("scores", o.Out.URI))
	}
	params := map[string]any{
		"estimator": o.Estimator, "compat": string(o.Compat), "no-scale": o.NoScale,
		"solved-threshold": o.solved(), "flat-tolerance": o.tolerance(),
	}
	if in.by != nil {
		params["by"] = in.by.text
	}
	if o.Pairs.Mode != "" {
		params["pairs"] = o.Pairs
	}
	if o.Labels {
		params["labels"] = true
	}
	return dataset.Spec{
		Stage: stage, Version: version, Kind: formats.KindGroups, Params: params,
		Inputs: inputs, Base: &base,
		Gates: o.gates(),
	}
}

func (o *Options) solved() float64    { return or(o.SolvedThreshold, DefaultSolvedThreshold) }
func (o *Options) tolerance() float64 { return or(o.FlatTolerance, formats.FlatTolerance) }

func or(p *float64, otherwise float64) float64 {
	if p == nil {
		return otherwise
	}
	return *p
}

func (o *Options) gates() []dataset.Gate {
	var out []dataset.Gate
	if o.MinGroups != nil {
		out = append(out, dataset.Gate{Name: "min-groups", Count: factCompared, Min: o.MinGroups})
	}
	if o.MaxFlatGroups != nil {
		out = append(out, dataset.Gate{Name: "max-flat-groups", Count: factFlat, Of: factCompared, Max: o.MaxFlatGroups})
	}
	return out
}
