package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// ReadHistory returns the epochs that the history files of a run have, in three
// requests. It is storage.ErrNotExist without training_metrics.jsonl. What the files do
// not have is missing: of the curriculum all but the share, of the receipt all but the
// state, the steps and the metrics.
func ReadHistory(ctx context.Context, b *storage.Bucket) ([]Epoch, error) {
	files := make([][]byte, 3)
	g, reading := errgroup.WithContext(ctx)
	for i, name := range []string{MetricsFile, TrainingFile, ValidationFile} {
		g.Go(func() (err error) {
			if files[i], err = b.Read(reading, name); i > 0 && errors.Is(err, storage.ErrNotExist) {
				files[i], err = []byte("[]"), nil
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	of := map[int]*Epoch{}
	lines := json.NewDecoder(bytes.NewReader(files[0]))
	for lines.More() {
		var m metrics
		if err := lines.Decode(&m); err != nil {
			return nil, damagedHistory(b, MetricsFile, err)
		}
		of[m.Epoch] = m.epoch()
	}
	var training, validation []Reward
	if err := json.Unmarshal(files[1], &training); err != nil {
		return nil, damagedHistory(b, TrainingFile, err)
	}
	if err := json.Unmarshal(files[2], &validation); err != nil {
		return nil, damagedHistory(b, ValidationFile, err)
	}
	for _, r := range training {
		if e := of[r.Epoch]; e != nil {
			e.Train.StdErr, e.Train.RewardStdErrs, e.Train.Weights = r.StdErr, r.RewardStdErrs, weightsOf(r)
		}
	}
	for _, r := range validation {
		if of[r.Epoch] == nil {
			of[r.Epoch] = &Epoch{Epoch: r.Epoch, Time: r.Timestamp, Scores: r.Scores, Took: r.Took}
		}
		n := r.NumScored
		if r.NumExamples != nil {
			n = *r.NumExamples
		}
		of[r.Epoch].Validation = &Sample{Examples: n, Groups: n, Scored: r.NumScored, Mean: r.AvgReward, Min: r.MinReward,
			Max:     r.MaxReward,
			Rewards: r.Rewards, StdErr: r.StdErr, RewardStdErrs: r.RewardStdErrs, Weights: weightsOf(r)}
	}
	out := make([]Epoch, 0, len(of))
	for _, e := range slices.Sorted(maps.Keys(of)) {
		for _, s := range of[e].Scores {
			s.Weights = weightsOf(Reward{Rewards: s.Rewards})
		}
		out = append(out, *of[e])
	}
	return out, nil
}

func damagedHistory(b *storage.Bucket, name string, err error) error {
	return fault.Invalid(storage.Join(b.URI(), name), "", err,
		"not a history of the report, which `rollmill report` makes again")
}

// weightsOf returns the weights of named rewards. Older files have only their names.
func weightsOf(r Reward) map[string]float64 {
	if r.RewardWeights != nil {
		return r.RewardWeights
	}
	out := map[string]float64{}
	for name := range r.Rewards {
		out[name] = 1
	}
	return out
}

// epoch returns what a line of training_metrics.jsonl says.
func (m *metrics) epoch() *Epoch {
	e := &Epoch{Epoch: m.Epoch, Time: m.Timestamp, RunID: m.RunID, Flat: m.FlatGroups, Drops: m.Drops, Took: m.Took, Scores: m.Scores,
		Train: &Sample{Trajectories: m.NumTrajectories, Groups: m.NumGroups, Examples: m.NumGroups, Scored: m.NumScored,
			Failed: m.NumFailed,
			Mean:   m.AvgReward, Min: m.MinReward, Max: m.MaxReward, Rewards: m.Rewards}}
	if m.FilteredTrajectories > 0 || m.Drops != nil || m.CurriculumPercentile != nil {
		e.Kept = &Sample{Trajectories: m.FilteredTrajectories, Groups: m.FilteredGroups, Mean: m.FilteredAvgReward,
			Min: m.FilteredMinReward, Max: m.FilteredMaxReward}
	}
	if m.CurriculumPercentile != nil {
		e.Curriculum = &Curriculum{CurriculumState: decision.CurriculumState{Share: *m.CurriculumPercentile}}
	}
	if m.Submission != "" {
		e.Receipt = &receipts.Receipt{State: m.Submission, StepBefore: m.StepBefore, StepAfter: m.StepAfter,
			Metrics: m.Trainer, Sequences: m.Sequences}
	}
	return e
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
	CurriculumState      *CurriculumState `json:"curriculum_state,omitempty"`

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

type Reward struct {
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
	MetricsFile    = "training_metrics.jsonl"
	TrainingFile   = "reward_history.json"
	ValidationFile = "validation_history.json"
)

func MetricsOf(e Epoch) metrics {
	m := metrics{Epoch: e.Epoch, Timestamp: e.Time, RunID: e.RunID, AvgReward: e.Train.Mean, MinReward: e.Train.Min,
		MaxReward:       e.Train.Max,
		NumTrajectories: e.Train.Trajectories, NumGroups: e.Train.Groups, NumScored: e.Train.Scored,
		NumFailed:  e.Train.Failed,
		FlatGroups: e.Flat, Scores: e.Scores, Rewards: e.Train.Rewards, Drops: e.Drops, CurriculumState: StateOf(e), Took: e.Took}
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

func RewardOf(e Epoch, s *Sample, trajectories, examples *int64) Reward {
	return Reward{Epoch: e.Epoch, Timestamp: e.Time, AvgReward: s.Mean, MinReward: s.Min, MaxReward: s.Max,
		NumTrajectories: trajectories, NumExamples: examples, NumScored: s.Scored, StdErr: s.StdErr, Rewards: s.Rewards,
		RewardStdErrs: s.RewardStdErrs, RewardWeights: s.Weights}
}
