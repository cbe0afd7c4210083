package trace

import (
	"context"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/find"
	"github.com/rollmill/rollmill/pipelines/look/model"
)

// Trace is one trajectory from rollout to submission. A step that did not happen,
// or whose dataset is not under the URI, is absent.
type Trace struct {
	TrajectoryID string `json:"trajectory_id"`
	ExampleID    string `json:"example_id"`
	Epoch        int32  `json:"epoch"`
	Generation   int32  `json:"generation"`

	Rollout     *Recorded          `json:"rollout,omitempty"`
	Scores      []Scored           `json:"scores,omitempty"`
	Groups      []model.Grouped    `json:"groups,omitempty"`
	Curated     []model.Curated    `json:"curated,omitempty"`
	Submissions []Submission       `json:"submissions,omitempty"`
	Others      []model.Appearance `json:"others,omitempty"` // other trajectory datasets that have it
	Problems    []string           `json:"problems,omitempty"`
}

// Recorded is what rollout recorded.
type Recorded struct {
	*model.Conversation
	Traceback string `json:"traceback,omitempty"` // the whole of it, if the row's error is its last line
}

// Scored is the result in one score dataset.
type Scored struct {
	model.Appearance
	Reward  *float64          `json:"reward"`
	Rewards []model.Component `json:"rewards"`
	Failure string            `json:"failure,omitempty"`
	Error   string            `json:"error,omitempty"`
	Signals []model.OfMessage `json:"signals,omitempty"` // by the reward's name
}

// Submission is a submission of a curated dataset that kept the trajectory.
type Submission struct {
	URI        string           `json:"uri"`
	Backend    string           `json:"backend"`
	State      string           `json:"state"`
	Job        string           `json:"job,omitempty"`
	StepBefore *int64           `json:"step_before,omitempty"`
	StepAfter  *int64           `json:"step_after,omitempty"`
	Policy     *receipts.Policy `json:"policy,omitempty"`
	Message    string           `json:"message,omitempty"`
}

// Explain traces one trajectory, given its id or a unique prefix of it. It searches
// every dataset and receipt under a URI (a run, an epoch or a dataset) and the
// datasets from which these were made. It reads the ids and one row of wide
// datasets, and the matching row of thin ones. An unknown or ambiguous id is a
// fault.Error.
func Explain(ctx context.Context, uri, id string) (*Trace, error) {
	sets, err := find.Find(ctx, uri)
	if err != nil {
		return nil, err
	}
	sets.Follow(ctx)
	at, err := sets.Locate(ctx, id)
	if err != nil {
		return nil, err
	}
	s := &Trace{}
	for _, d := range sets.Datasets {
		row, ok := at.Rows[d]
		if !ok {
			continue
		}
		if err := s.add(ctx, d, at.ID, row); err != nil {
			return nil, err
		}
	}
	s.submitted(sets.Receipts)
	s.Problems = sets.Problems
	return s, nil
}

// add adds the steps that one dataset records.
func (s *Trace) add(ctx context.Context, d *dataset.Dataset, id string, row int64) error {
	where := model.Appearance{URI: d.URI(), Row: row}
	switch {
	case d.Stage == find.StageCurate:
		return s.decided(ctx, d, row)
	case d.Kind == schema.KindScores:
		return s.scored(ctx, d, where)
	case d.Kind == schema.KindGroups:
		return s.grouped(ctx, d, id, where)
	case s.Rollout == nil:
		return s.rolled(ctx, d, where.Row)
	}
	s.Others = append(s.Others, where)
	return nil
}
