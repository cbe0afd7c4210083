package report

import (
	"encoding/json"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
)

// Curriculum is where the curriculum stood when an epoch was curated.
type Curriculum struct {
	formats.CurriculumState
	Config map[string]any `json:"config"` // curate's settings, as its manifest has them
}

// curriculumOf reads what curate left of its curriculum; nil when it had none.
func curriculumOf(d *dataset.Dataset) (*Curriculum, error) {
	if d.State == nil {
		return nil, nil
	}
	var state formats.CurateState
	if err := json.Unmarshal(d.State, &state); err != nil {
		return nil, formats.Invalid(d.URI(), "", err, "the state of curate cannot be read")
	}
	raw, ok := state.Rules[formats.RuleCurriculum]
	if !ok {
		return nil, nil
	}
	c := &Curriculum{}
	if err := json.Unmarshal(raw, &c.CurriculumState); err != nil {
		return nil, formats.Invalid(d.URI(), "", err, "the state of the curriculum cannot be read")
	}
	c.Config, _ = d.Params["curriculum"].(map[string]any)
	return c, nil
}

// curriculumState is curriculum_state.json, the harness's fields.
type curriculumState struct {
	CurrentPercentile  *float64       `json:"current_percentile"` // null without a curriculum
	LastExpansionEpoch int            `json:"last_expansion_epoch"`
	TotalGroups        int            `json:"total_groups"`
	IncludedGroups     int            `json:"included_groups"`
	Config             map[string]any `json:"config"`
}

func stateOf(e Epoch) *curriculumState {
	if e.Curriculum == nil {
		return nil
	}
	c := e.Curriculum
	return &curriculumState{&c.Share, c.LastExpansion, c.TotalGroups, c.Included, harnessConfig(c.Config)}
}

// harnessConfig is curate's settings under the harness's names.
func harnessConfig(params map[string]any) map[string]any {
	out := map[string]any{"enabled": true}
	for ours, theirs := range map[string]string{
		"initial": "initial_percentile", "increment": "increment_percentile", "interval": "expansion_interval",
		"min-reward-diff": "min_reward_diff", "ascending": "sort_ascending", "random-subsample": "random_subsample",
	} {
		out[theirs] = params[ours]
	}
	return out
}
