package score

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage/fault"
)

const (
	stage   = "score"
	version = 3 // raise it when the same inputs and specs give other rows
)

// input is what is scored: trajectories, with their earlier scores.
type input struct {
	base, scores *dataset.Dataset // scores is nil when In is wide
	carried      []Spec           // of scores, in order
	copies       *copySource      // nil without --only
	copiedSpecs  []Spec           // of the scores that are copied, when no reward is named
}

// state is in the manifest: the rewards of the rows.
type state struct {
	Rewards []Spec `json:"rewards"`
}

func openInput(ctx context.Context, in stages.Input) (*input, error) {
	d, err := dataset.Open(ctx, in.URI, dataset.OpenOptions{AcceptGates: in.AcceptGates})
	if err != nil {
		return nil, err
	}
	switch d.Kind {
	case schema.KindTrajectories:
		return &input{base: d}, nil
	case schema.KindScores:
		return openScores(ctx, d)
	}
	return nil, fault.Invalid(d.URI(), "give score the dataset that rollout wrote, or scores to carry forward", nil,
		"it holds %s, which cannot be scored", d.Kind)
}

func openScores(ctx context.Context, d *dataset.Dataset) (*input, error) {
	base, err := d.OpenBase(ctx)
	if err != nil {
		return nil, err
	}
	if base.Rows != d.Rows {
		return nil, fault.Invalid(d.URI(), "score the trajectories again", nil, "it has %d rows and its base %q has %d",
			d.Rows, base.URI(), base.Rows)
	}
	var s state
	if err := json.Unmarshal(d.State, &s); err != nil {
		return nil, fault.Invalid(d.URI(), "score the trajectories again", err,
			"its manifest does not say which rewards it has")
	}
	return &input{base: base, scores: d, carried: s.Rewards}, nil
}

// carriedExcept returns the rewards carried forward: those that are not computed again.
func (src *input) carriedExcept(specs []Spec) []Spec {
	return slices.DeleteFunc(append([]Spec{}, src.carried...), func(c Spec) bool { return has(specs, c.Name) })
}

// stepped returns those of them that may have given shaped rewards.
func (src *input) stepped(specs []Spec) []string {
	var out []string
	for _, s := range src.carriedExcept(specs) {
		if src.scores.Facts[factSteps(s.Name)] > 0 {
			out = append(out, s.Name)
		}
	}
	return out
}

func has(specs []Spec, name string) bool {
	return slices.ContainsFunc(specs, func(s Spec) bool { return s.Name == name })
}

func (src *input) spec(ctx context.Context, o Options, rewards rewardSet) (manifest.Spec, error) {
	files, err := rewards.files(ctx, o)
	if err != nil {
		return manifest.Spec{}, err
	}
	base := src.base.Ref("base", o.Out.URI)
	inputs := []manifest.Ref{base}
	if src.scores != nil {
		inputs = append(inputs, src.scores.Ref("scores", o.Out.URI))
	}
	specs := make([]string, len(o.Rewards))
	params := map[string]any{"reward": specs}
	if len(o.TaskEnv) > 0 {
		params["task_env"] = o.taskEnv.Params()
	}
	if src.copies != nil {
		inputs = append(inputs, src.copies.Ref("from", o.Out.URI))
		params["only"] = sortedModes(o.Only)
	}
	for i, s := range o.Rewards {
		specs[i] = deciding(o.Registry, s).String()
		if kind, err := o.Registry.Find(s.Kind); err == nil && kind.Seeded {
			params["seed"] = o.Seed
		}
	}
	return manifest.Spec{
		Stage: stage, Version: version, Kind: schema.KindScores, Params: params, Files: files, Inputs: inputs, Base: &base,
		Run: dataset.RunOf(src.scores, src.base), Columns: src.base.Columns,
		Gates: gates(o),
	}, nil
}

// missingField is the gate of rewards that read a field that no row has. A run
// of one shard fails before that; with several, only the sealed dataset shows
// it, because the rows of one shard may all be of one kind.
const missingField = "missing-field"

func gates(o Options) []manifest.Gate {
	list := []manifest.Gate{{Name: "max-failure-rate", Count: countUnscored, Of: factAttempted, Max: o.MaxFailureRate}}
	short := math.Nextafter(1, 0) // of all of them
	for _, s := range o.Rewards {
		list = append(list, manifest.Gate{Name: missingField, Count: factMissing(s.Name), Of: factAttempted, Max: &short})
	}
	return list
}
