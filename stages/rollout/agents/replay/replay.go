// Package replay is the agent whose attempts were made before: it returns the
// stored trajectories of a dataset as if they were new, under the new run's
// ids, for tests and to run the later stages of an epoch again. It calls no
// engine, so it needs no endpoint and no model. Tokens, logprobs, calls,
// failures and metadata are the stored ones. Rewards and groups are left out;
// the later stages compute them.
//
// A stored trajectory is found by its example and generation, whatever its run
// and epoch. A missing one fails (class example). Rows that cannot be read end
// the run: the dataset is damaged, and no attempt failed.
//
// With --target-model or --target-function other calls are trained on than
// before: those to this model, or else to the trajectory's, that the function
// made, by the names in the calls. A trajectory without such a call fails
// (class no_calls), and so does one whose calls were recorded without log
// probabilities, as untrained calls are (no_logprobs), unless none are needed.
// Failed trajectories stay failed.
package replay

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/tree"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

var Kind = plugin.Kind[agents.Settings]{
	Name: "replay",
	Help: "return the stored trajectories of an earlier rollout as if they were new: --agent 'replay: DATASET'",
	New:  func() agents.Settings { return &Settings{} },
}

// Settings are the agent's: the URI of its dataset.
type Settings struct{ agents.Arguments }

func (*Settings) Declare(*plugin.Declarer) {}

type agent struct {
	setup agents.Setup
	data  *dataset.Dataset
	rows  map[xxh3.Uint128]int64 // of each example and generation
}

func key(example string, generation int32) xxh3.Uint128 {
	return xxh3.HashString128Seed(example, uint64(generation))
}

// Agent opens the dataset and reads which attempts it holds.
func (s *Settings) Agent(ctx context.Context, set agents.Setup) (agents.Agent, error) {
	if len(s.Words) != 1 {
		return nil, agents.Usage("--agent 'replay: runs/earlier/epoch-0/rollout'", "agent replay needs one dataset")
	}
	d, err := dataset.Open(ctx, s.Words[0], dataset.OpenOptions{Kind: schema.KindTrajectories})
	if err != nil {
		return nil, fmt.Errorf("rollout: agent replay: %w", err)
	}
	a := &agent{setup: set, data: d, rows: make(map[xxh3.Uint128]int64, d.Rows)}
	return a, a.index(ctx)
}

func (a *agent) index(ctx context.Context) error {
	type id struct {
		ExampleID  string `parquet:"example_id,dict"`
		Generation int32  `parquet:"generation,delta"`
	}
	at := int64(0)
	for row, err := range dataset.Each[id](ctx, a.data, "", a.data.All()) {
		if err != nil {
			return fmt.Errorf("rollout: agent replay: %w", err)
		}
		k := key(row.ExampleID, row.Generation)
		if _, known := a.rows[k]; !known { // in another epoch
			a.rows[k] = at
		}
		at++
	}
	return nil
}

func (a *agent) Describe() agents.Description {
	params := map[string]any{"rows": a.data.RowsDigest.String()}
	if a.setup.TargetModel != "" {
		params["target_model"] = a.setup.TargetModel
	}
	return agents.Description{Kind: "replay", Params: params, Stored: a.stored}
}

func (a *agent) Close() error { return nil }

func (a *agent) stored(ctx context.Context, at agents.Attempt) (formats.Trajectory, error) {
	row, ok := a.rows[key(at.Example.ID, int32(at.Generation))]
	if !ok {
		return formats.Trajectory{}, agents.Failf(outcomes.FailExample,
			"the replayed dataset has no generation %d of example %q", at.Generation, at.Example.ID)
	}
	rows, err := dataset.ReadAll[formats.Trajectory](ctx, a.data, "", dataset.Range{First: row, Rows: 1})
	if err != nil {
		return formats.Trajectory{}, fmt.Errorf("rollout: agent replay: %w", err)
	}
	a.aim(&rows[0])
	return rows[0], nil
}

// Attempt is part of agents.Agent; the runner calls stored.
func (a *agent) Attempt(ctx context.Context, at agents.Attempt) (agents.Result, error) {
	return agents.Result{}, fmt.Errorf("agent replay asks no model")
}

// aim makes the calls that the setup names the targets, if it names any.
func (a *agent) aim(t *formats.Trajectory) {
	functions := a.setup.Functions
	if a.setup.TargetModel == "" && len(functions) == 0 {
		return
	}
	model, found := cmp.Or(a.setup.TargetModel, t.Model), false
	for i := range t.Calls {
		c := &t.Calls[i]
		c.Target = c.Model == model && (len(functions) == 0 || slices.Contains(functions, c.Function))
	}
	if !a.setup.TrainAuxiliary {
		tree.SkipAuxiliary(t.Messages, t.Calls, nil)
	}
	t.Model, t.SampledTokens = model, 0
	bare := -1
	for i := range t.Messages {
		if t.Trained(i) {
			found = true
			t.SampledTokens += int32(len(t.Messages[i].Logprobs))
			if len(t.Messages[i].Logprobs) == 0 && !t.Messages[i].NoTokens() {
				bare = i
			}
		}
	}
	switch {
	case t.Status == outcomes.StatusFailed || t.Status == outcomes.StatusSkipped:
	case !found:
		rollout.Fail(t, outcomes.StopError, outcomes.FailNoCalls,
			fmt.Sprintf("none of its %d calls was to the target model and function", len(t.Calls)))
	case bare >= 0 && !a.setup.NoLogprobs:
		rollout.Fail(t, outcomes.StopError, outcomes.FailNoLogprobs,
			fmt.Sprintf("message %d was recorded without log probabilities", bare))
	}
}
