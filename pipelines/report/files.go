package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rollmill/rollmill/formats/receipts"
)

type file struct {
	name string
	data []byte
}

// metrics is a line of training_metrics.jsonl: the harness's fields, under its
// names, and then ours. The harness's averages count a missing reward as 0; ours
// exclude it, and are null if nothing was scored.
type metrics struct {
	Epoch                int              `json:"epoch"`
	Timestamp            time.Time        `json:"timestamp"`
	RunID                string           `json:"run_id"`
	AvgReward            *float64         `json:"avg_reward"`
	MinReward            *float64         `json:"min_reward"`
	MaxReward            *float64         `json:"max_reward"`
	NumTrajectories      int64            `json:"num_trajectories"`
	NumGroups            int64            `json:"num_groups"`
	FilteredTrajectories int64            `json:"filtered_trajectories"`
	FilteredGroups       int64            `json:"filtered_groups"`
	FilteredAvgReward    *float64         `json:"filtered_avg_reward"`
	FilteredMinReward    *float64         `json:"filtered_min_reward"`
	FilteredMaxReward    *float64         `json:"filtered_max_reward"`
	CurriculumPercentile *float64         `json:"curriculum_percentile"`
	CurriculumState      *curriculumState `json:"curriculum_state,omitempty"`

	NumScored  int64              `json:"num_scored"`
	NumFailed  int64              `json:"num_failed"`
	FlatGroups int64              `json:"flat_groups"`
	Rewards    map[string]float64 `json:"rewards,omitempty"` // mean of each named reward
	Scores     map[string]*Sample `json:"scores,omitempty"`  // further score datasets, by the folder's name
	Drops      map[string]int64   `json:"drops,omitempty"`
	Submission string             `json:"submission,omitempty"` // the receipt's state
	StepBefore *int64             `json:"step_before,omitempty"`
	StepAfter  *int64             `json:"step_after,omitempty"`
	Trainer    map[string]float64 `json:"trainer,omitempty"` // the trainer's metrics

	Sequences map[string]receipts.Balance `json:"sequences,omitempty"` // of each file of sequences that was submitted

	Took
}

type reward struct {
	Epoch           int       `json:"epoch"`
	Timestamp       time.Time `json:"timestamp"`
	AvgReward       *float64  `json:"avg_reward"`
	MinReward       *float64  `json:"min_reward"`
	MaxReward       *float64  `json:"max_reward"`
	NumTrajectories *int64    `json:"num_trajectories,omitempty"`
	NumExamples     *int64    `json:"num_examples,omitempty"`

	NumScored int64              `json:"num_scored"`
	StdErr    *float64           `json:"std_err,omitempty"` // of avg_reward
	Rewards   map[string]float64 `json:"rewards,omitempty"`

	RewardStdErrs map[string]float64 `json:"reward_std_errs,omitempty"`
	RewardWeights map[string]float64 `json:"reward_weights,omitempty"`

	// Of an epoch that has only a validation, and so no line in training_metrics.jsonl.
	Scores map[string]*Sample `json:"scores,omitempty"`
	Took
}

// The names of the history files.
const (
	metricsFile    = "training_metrics.jsonl"
	trainingFile   = "reward_history.json"
	validationFile = "validation_history.json"
)

func render(run Run) ([]file, error) {
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
			r := rewardOf(e, e.Validation, nil, &e.Validation.Examples)
			if e.Train == nil {
				r.Scores, r.Took = e.Scores, e.Took
			}
			validation = append(validation, r)
		}
		if s := stateOf(e); s != nil {
			state = s
		}
	}
	files := []file{{metricsFile, lines.Bytes()}}
	for _, f := range []struct {
		name string
		v    any
	}{{trainingFile, training}, {validationFile, validation}, {"curriculum_state.json", state}} {
		data, err := json.MarshalIndent(f.v, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		files = append(files, file{f.name, append(data, '\n')})
	}
	plots, err := rewardFigure(run).files("reward_plot")
	if err != nil {
		return nil, fmt.Errorf("reward_plot: %w", err)
	}
	return append(files, plots...), nil
}

func metricsOf(e Epoch) metrics {
	m := metrics{Epoch: e.Epoch, Timestamp: e.Time, RunID: e.RunID, AvgReward: e.Train.Mean, MinReward: e.Train.Min,
		MaxReward:       e.Train.Max,
		NumTrajectories: e.Train.Trajectories, NumGroups: e.Train.Groups, NumScored: e.Train.Scored,
		NumFailed:  e.Train.Failed,
		FlatGroups: e.Flat, Scores: e.Scores, Rewards: e.Train.Rewards, Drops: e.Drops, CurriculumState: stateOf(e), Took: e.Took}
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

func rewardOf(e Epoch, s *Sample, trajectories, examples *int64) reward {
	return reward{Epoch: e.Epoch, Timestamp: e.Time, AvgReward: s.Mean, MinReward: s.Min, MaxReward: s.Max,
		NumTrajectories: trajectories, NumExamples: examples, NumScored: s.Scored, StdErr: s.StdErr, Rewards: s.Rewards,
		RewardStdErrs: s.RewardStdErrs, RewardWeights: s.weights}
}
