package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/pipelines/run"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
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

// inputs opens the datasets that a manifest names, and returns them by role.
func inputs(ctx context.Context, d *dataset.Dataset) (map[string][]stages.Input, error) {
	out := map[string][]stages.Input{}
	for _, r := range d.Inputs {
		if r.Identity == "" {
			continue // a file
		}
		in, err := d.OpenRef(ctx, r)
		if err != nil {
			return nil, err
		}
		if err := dataset.Verify(ctx, in); err != nil {
			return nil, err
		}
		var gates []string
		for _, g := range in.Gates {
			gates = append(gates, g.Name)
		}
		out[r.Role] = append(out[r.Role], stages.Input{URI: in.URI(), AcceptGates: gates})
	}
	if len(out["base"]) == 0 {
		return nil, fault.Invalid(d.URI(), "", nil, "its manifest names no dataset that it was made from")
	}
	return out, nil
}

func first(list []stages.Input) stages.Input { return append(list, stages.Input{})[0] }

// rewards sets the options that decide the rows of scores.
func rewards(o *score.Options, d *dataset.Dataset, programs bool) error {
	if err := restore(o, d.Params); err != nil {
		return err
	}
	var given struct {
		Reward, Only []string
		Seed         int64
	}
	if err := filled(d.Params, &given); err != nil {
		return err
	}
	o.Only, o.Seed = given.Only, given.Seed
	if err := o.Rewards.Parse(given.Reward); err != nil {
		return err
	}
	for i := range o.Rewards {
		r := &o.Rewards[i]
		if r.Kind == "echo" { // its file is beside the receipt, wherever that is now
			of, _, first := strings.Cut(strings.TrimPrefix(r.Arguments, "of="), ",file=")
			if !first {
				_, of, _ = strings.Cut(r.Arguments, ",of=")
			}
			r.Arguments = ",file=" + storage.Join(run.ReceiptOf(d.URI()), backends.EchoFile)
			if of != "" {
				r.Arguments = "of=" + of + r.Arguments
			}
		}
		kind, err := o.Registry.Find(r.Kind)
		if err != nil {
			return err
		}
		reward, err := kind.Make(r.Arguments, score.Setup{Name: r.Name, Partial: true, Open: o.Open, Log: o.Logger()})
		if err != nil {
			return fmt.Errorf("reward %q: %w", r.Name, err)
		}
		err = allowed(r, reward, programs)
		if err := errors.Join(err, reward.Close()); err != nil {
			return err
		}
	}
	for name := range d.Files {
		if _, err := os.Stat(name); err == nil {
			o.DependsOn = append(o.DependsOn, name)
		}
	}
	return nil
}

// allowed refuses what would reach out of this process: a manifest may be anyone's.
func allowed(r *score.Spec, reward score.Reward, programs bool) error {
	switch d := reward.Describe(); {
	case d.Immediate || d.Local || d.Words != nil && programs:
		return nil
	case d.Words != nil:
		return fmt.Errorf("reward %q runs the program %q, which --programs allows", r.Name, d.Words)
	}
	return fmt.Errorf("reward %q of kind %s asks a model or a service", r.Name, r.Kind)
}

// restore sets the settings that decide rows, and the rollouts that curate holds out.
func restore(s plugin.Settings, params map[string]any, holdout ...stages.Input) error {
	if err := plugin.Restore(s, params); err != nil {
		return err
	}
	for _, x := range plugin.Declared(s) {
		if x.Name != "holdout" || len(holdout) == 0 {
			continue
		}
		var uris []string
		for _, in := range holdout {
			uris = append(uris, in.URI)
		}
		return x.Set(uris...)
	}
	return nil
}

// filled sets to from the JSON of from.
func filled(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return decode(data, to)
}
