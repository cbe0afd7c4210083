package prove

import (
	"context"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/score"
)

// Stages are the options of the stages with what they choose from, and no input.
type Stages struct {
	Score  func() score.Options
	Group  func() group.Options
	Curate func() curate.Options
	Spill  stages.Spill // of groups whose rows are not adjacent
}

// drawn is the parameter of a plan that curate drew from a task file by pass rates. Such a
// plan is not made again.
const drawn = "plan-pass-rate"

// again makes a dataset at out once more, from the inputs and the settings that its
// manifest names. The error says why it cannot be made. programs allows the programs
// that the manifest names.
func (s Stages) again(ctx context.Context, d *dataset.Dataset, out string, programs bool) error {
	from, err := inputs(ctx, d)
	if err != nil {
		return err
	}
	base := from["base"]
	switch d.Stage {
	case "score":
		o := s.Score()
		o.Out.URI = out
		if err := rewards(&o, d, programs); err != nil {
			return err
		}
		o.In = first(append(from["scores"], base...))
		o.From = first(from["from"])
		_, err = score.Run(ctx, o)
	case "group":
		o := s.Group()
		o.Out.URI, o.Spill = out, s.Spill
		if err := restore(&o, d.Params); err != nil {
			return err
		}
		if err := filled(d.Params["pairs"], &o.Pairs); err != nil {
			return err
		}
		in := append(from["scores"], base...)
		o.In, o.From = in[0], first(from["baselines"]).URI
		if n := len(from["scores"]); n > 1 {
			o.Scores = in[1:n]
		}
		_, err = group.Run(ctx, o)
	case "curate":
		o := s.Curate()
		o.Out.URI, o.Spill = out, s.Spill
		if err := restore(&o, d.Params, from["holdout"]...); err != nil {
			return err
		}
		for _, r := range o.Rules.All() { // those of pools are stored as they are
			if pools, has := d.Params[r.Entry.Name]; has && r.Entry.Name == decision.RulePools {
				if err := filled(pools, r.Settings); err != nil {
					return err
				}
			}
		}
		if o.PlanTable.Drawn() || d.Params[drawn] != nil { // of a task file
			o.PlanTable = curate.PlanTable{}
		}
		o.In, o.Previous = first(from["groups"]), first(from["previous"])
		if len(from["groups"]) > 1 {
			o.OtherEpochs = from["groups"][1:]
		}
		_, err = curate.Run(ctx, o)
	}
	if _, refused := err.(*manifest.GateError); refused { // it was when it was made, too
		return nil
	}
	return err
}
