package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/look/plot"
)

// reward is an element of reward_history.json and of validation_history.json: the harness's
// fields, under its names, and then ours. The harness's averages count a missing reward as 0;
// ours exclude it, and are null if nothing was scored.
type reward struct {
	Epoch           int       `json:"epoch"`
	Timestamp       time.Time `json:"timestamp"`
	AvgReward       *float64  `json:"avg_reward"`
	MinReward       *float64  `json:"min_reward"`
	MaxReward       *float64  `json:"max_reward"`
	NumTrajectories *int64    `json:"num_trajectories,omitempty"`
	NumExamples     *int64    `json:"num_examples,omitempty"`

	NumScored     int64              `json:"num_scored"`
	StdErr        *float64           `json:"std_err,omitempty"` // of avg_reward
	Rewards       map[string]float64 `json:"rewards,omitempty"` // mean of each named reward
	RewardStdErrs map[string]float64 `json:"reward_std_errs,omitempty"`
	RewardWeights map[string]float64 `json:"reward_weights,omitempty"`
}

// metrics is a line of training_metrics.jsonl, with fields as those of reward.
type metrics struct {
	reward
	RunID                string           `json:"run_id"`
	NumGroups            int64            `json:"num_groups"`
	FilteredTrajectories int64            `json:"filtered_trajectories"`
	FilteredGroups       int64            `json:"filtered_groups"`
	FilteredAvgReward    *float64         `json:"filtered_avg_reward"`
	FilteredMinReward    *float64         `json:"filtered_min_reward"`
	FilteredMaxReward    *float64         `json:"filtered_max_reward"`
	CurriculumPercentile *float64         `json:"curriculum_percentile"`
	CurriculumState      *curriculumState `json:"curriculum_state,omitempty"`

	NumFailed  int64                       `json:"num_failed"`
	FlatGroups int64                       `json:"flat_groups"`
	Scores     map[string]*history.Sample  `json:"scores,omitempty"` // further score datasets, by the folder's name
	Drops      map[string]int64            `json:"drops,omitempty"`
	Submission string                      `json:"submission,omitempty"` // the receipt's state
	StepBefore *int64                      `json:"step_before,omitempty"`
	StepAfter  *int64                      `json:"step_after,omitempty"`
	Trainer    map[string]float64          `json:"trainer,omitempty"`   // the trainer's metrics
	Sequences  map[string]receipts.Balance `json:"sequences,omitempty"` // of each file of sequences that was submitted
	history.Took
}

func metricsOf(e history.Epoch) metrics {
	m := metrics{reward: rewardOf(e, e.Train, &e.Train.Trajectories, nil), RunID: e.RunID, NumGroups: e.Train.Groups,
		NumFailed: e.Train.Failed, FlatGroups: e.Flat, Scores: e.Scores, Drops: e.Drops, CurriculumState: stateOf(e), Took: e.Took}
	if k := e.Kept; k != nil {
		m.FilteredTrajectories, m.FilteredGroups = k.Trajectories, k.Groups
		m.FilteredAvgReward, m.FilteredMinReward, m.FilteredMaxReward = k.Mean, k.Min, k.Max
	}
	if e.Curriculum != nil {
		m.CurriculumPercentile = &e.Curriculum.Share
	}
	if r := e.Receipt; r != nil {
		m.Submission, m.StepBefore, m.StepAfter, m.Trainer, m.Sequences = r.State, r.StepBefore, r.StepAfter, r.Metrics, r.Sequences
	}
	return m
}

func rewardOf(e history.Epoch, s *history.Sample, trajectories, examples *int64) reward {
	return reward{Epoch: e.Epoch, Timestamp: e.Time, AvgReward: s.Mean, MinReward: s.Min, MaxReward: s.Max,
		NumTrajectories: trajectories, NumExamples: examples, NumScored: s.Scored, StdErr: s.StdErr, Rewards: s.Rewards,
		RewardStdErrs: s.RewardStdErrs, RewardWeights: s.Weights}
}

// curriculumState is the content of curriculum_state.json, with the harness's
// fields.
type curriculumState struct {
	CurrentPercentile  *float64       `json:"current_percentile"` // null without a curriculum
	LastExpansionEpoch int            `json:"last_expansion_epoch"`
	TotalGroups        int            `json:"total_groups"`
	IncludedGroups     []int          `json:"included_groups"` // indexes, as the harness has them
	Config             map[string]any `json:"config"`
}

func stateOf(e history.Epoch) *curriculumState {
	if e.Curriculum == nil {
		return nil
	}
	c := e.Curriculum
	return &curriculumState{&c.Share, c.LastExpansion, c.TotalGroups, c.Chosen, harnessConfig(c.Config)}
}

// harnessConfig returns curate's settings under the harness's names.
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

func render(run history.Run) ([]plot.File, error) {
	var lines bytes.Buffer
	training, validation := []reward{}, []reward{}
	state := &curriculumState{}
	for _, e := range run.Epochs {
		if e.Train != nil {
			if err := json.NewEncoder(&lines).Encode(metricsOf(e)); err != nil {
				return nil, err
			}
			training = append(training, rewardOf(e, e.Train, &e.Train.Trajectories, nil))
		}
		if e.Validation != nil {
			validation = append(validation, rewardOf(e, e.Validation, nil, &e.Validation.Examples))
		}
		if s := stateOf(e); s != nil {
			state = s
		}
	}
	files := []plot.File{{Name: "training_metrics.jsonl", Data: lines.Bytes()}}
	for _, f := range []struct {
		name string
		v    any
	}{{"reward_history.json", training}, {"validation_history.json", validation}, {"curriculum_state.json", state}, {history.File, run}} {
		data, err := json.MarshalIndent(f.v, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		files = append(files, plot.File{Name: f.name, Data: append(data, '\n')})
	}
	plots, err := plot.RewardFigure(run).Files("reward_plot")
	if err != nil {
		return nil, fmt.Errorf("reward_plot: %w", err)
	}
	return append(files, plots...), nil
}
