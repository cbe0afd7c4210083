package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/planning"
	"github.com/rollmill/rollmill/storage/fault"
)

// version is the version of the stage's semantics. Raise it when the same
// inputs give other rows.
const version = 3

// gateName is the name of the gate and of the setting with its limit.
const gateName = "max-failure-rate"

// spec returns the dataset's identity, which covers the tasks of all shards;
// extended is nil without --extend.
func (o Options) spec(ctx context.Context, all planning.Tasks, extended *dataset.Dataset) (manifest.Spec, error) {
	files, err := stages.DigestFiles(ctx, o.DependsOn)
	if err != nil {
		return manifest.Spec{}, dependsOn(err)
	}
	maps.Copy(files, o.agent.Files)
	examples, err := planning.DigestExamples(o.Examples, all)
	if err != nil {
		return manifest.Spec{}, err
	}
	params := plugin.Identity(&o, new(Options{}.defaults()))
	maps.Copy(params, map[string]any{"run": o.Run, "epoch": o.AtEpoch(),
		"agent": map[string]any{"kind": o.agent.Kind, "params": o.agent.Params}, "examples": examples})
	if o.Plan == nil {
		params["generations"] = o.Generations
	}
	if o.Policy != nil {
		params["policy_version"] = o.Policy.Version
	}
	if o.TargetModel != "" && o.TargetModel != o.Model {
		params["target_model"] = o.TargetModel
	}
	spec := manifest.Spec{
		Stage: stage, Version: version, Kind: schema.KindTrajectories, Params: params, Files: files, Columns: o.Columns,
		Gates: []manifest.Gate{{Name: gateName, Count: outcomes.StatusFailed, Of: "rows", Max: o.MaxFailureRate}},
	}
	if o.ExamplesRef.Digest != "" {
		spec.Inputs = []manifest.Ref{o.ExamplesRef}
	}
	if o.Plan != nil {
		spec.Inputs = append(spec.Inputs, o.Plan.Dataset.Ref("plan", o.Out.URI))
	}
	if extended == nil && all.Forked() {
		origins, err := o.Plan.Origins(o.Out.URI)
		if err != nil {
			return manifest.Spec{}, err
		}
		spec.Inputs = append(spec.Inputs, origins)
	}
	if extended != nil {
		if n, known := extended.Params["generations"]; known {
			params["generations"] = n // of what extends nothing: curate plans by it
		}
		spec.Inputs = append(spec.Inputs, extended.Ref("base", o.Out.URI))
	}
	if _, err := json.Marshal(params); err != nil {
		return manifest.Spec{}, agents.Usage("", "the agent's parameters: %w", err)
	}
	return spec, nil
}

// dependsOn is the error of a file that --depends-on names.
func dependsOn(err error) error {
	const hint = "--depends-on names files whose content decides the rows"
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fault.Errorf(fault.Input, hint, "%w", err)
	}
	return agents.Usage(hint, "%w", err)
}
