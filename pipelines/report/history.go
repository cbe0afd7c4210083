package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

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
	for i, name := range []string{metricsFile, trainingFile, validationFile} {
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
			return nil, damagedHistory(b, metricsFile, err)
		}
		of[m.Epoch] = m.epoch()
	}
	var training, validation []reward
	if err := json.Unmarshal(files[1], &training); err != nil {
		return nil, damagedHistory(b, trainingFile, err)
	}
	if err := json.Unmarshal(files[2], &validation); err != nil {
		return nil, damagedHistory(b, validationFile, err)
	}
	for _, r := range training {
		if e := of[r.Epoch]; e != nil {
			e.Train.StdErr, e.Train.RewardStdErrs, e.Train.weights = r.StdErr, r.RewardStdErrs, weightsOf(r)
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
			Rewards: r.Rewards, StdErr: r.StdErr, RewardStdErrs: r.RewardStdErrs, weights: weightsOf(r)}
	}
	out := make([]Epoch, 0, len(of))
	for _, e := range slices.Sorted(maps.Keys(of)) {
		for _, s := range of[e].Scores {
			s.weights = weightsOf(reward{Rewards: s.Rewards})
		}
		out = append(out, *of[e])
	}
	return out, nil
}

func damagedHistory(b *storage.Bucket, name string, err error) error {
	return fault.Invalid(storage.Join(b.URI(), name), "", err, "not a history of the report, which `rollmill report` makes again")
}

// weightsOf returns the weights of named rewards. Older files have only their names.
func weightsOf(r reward) map[string]float64 {
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

// RewardView returns the figure of a run's rewards by epoch, with bands of 95 %.
func RewardView(run Run) (FigureView, error) { return rewardFigure(run).view("Rewards by epoch") }
