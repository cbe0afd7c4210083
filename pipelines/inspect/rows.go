package inspect

import (
	"context"
	"errors"
	"io"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
)

// These types have the light columns of each kind of row, named as on disk.

type trajectory struct {
	TrajectoryID  string   `parquet:"trajectory_id" json:"trajectory_id"`
	ExampleID     string   `parquet:"example_id,dict" json:"example_id"`
	Epoch         int32    `parquet:"epoch,delta" json:"epoch"`
	Generation    int32    `parquet:"generation,delta" json:"generation"`
	Status        string   `parquet:"status,dict" json:"status"`
	StopReason    string   `parquet:"stop_reason,dict" json:"stop_reason"`
	FailureClass  string   `parquet:"failure_class,optional,dict" json:"failure_class,omitempty"`
	Error         string   `parquet:"error,optional" json:"error,omitempty"`
	SampledTokens int32    `parquet:"sampled_tokens,delta" json:"sampled_tokens"`
	Reward        *float64 `parquet:"reward,optional" json:"reward"`
	Advantage     *float64 `parquet:"advantage,optional" json:"advantage"`
	Answer        string   `parquet:"answer,optional" json:"answer"`
}

type score struct {
	TrajectoryID string   `parquet:"trajectory_id" json:"trajectory_id"`
	ExampleID    string   `parquet:"example_id,dict" json:"example_id"`
	Epoch        int32    `parquet:"epoch,delta" json:"epoch"`
	Generation   int32    `parquet:"generation,delta" json:"generation"`
	Status       string   `parquet:"status,dict" json:"status"`
	Reward       *float64 `parquet:"reward,optional" json:"reward"`
	Failure      string   `parquet:"failure,optional,dict" json:"failure,omitempty"`
	Error        string   `parquet:"error,optional" json:"error,omitempty"`
}

type member struct {
	TrajectoryID string   `parquet:"trajectory_id" json:"trajectory_id"`
	GroupID      string   `parquet:"group_id,dict" json:"group_id"`
	Generation   int32    `parquet:"generation,delta" json:"generation"`
	Status       string   `parquet:"status,dict" json:"status"`
	Reward       *float64 `parquet:"reward,optional" json:"reward"`
	Advantage    *float64 `parquet:"advantage,optional" json:"advantage"`
	NoAdvantage  string   `parquet:"no_advantage,optional,dict" json:"no_advantage,omitempty"`
}

type group struct {
	GroupID string   `parquet:"group_id" json:"group_id"`
	Count   int32    `parquet:"count,delta" json:"count"`
	Valid   int32    `parquet:"valid,delta" json:"valid"`
	Mean    *float64 `parquet:"mean,optional" json:"mean"`
	StdPop  *float64 `parquet:"std_pop,optional" json:"std_pop"`
	Min     *float64 `parquet:"min,optional" json:"min"`
	Max     *float64 `parquet:"max,optional" json:"max"`
	Solved  *float64 `parquet:"solved,optional" json:"solved"`
}

type decision struct {
	TrajectoryID string `parquet:"trajectory_id" json:"trajectory_id"`
	GroupID      string `parquet:"group_id,dict" json:"group_id"`
	Generation   int32  `parquet:"generation,delta" json:"generation"`
	Kept         bool   `parquet:"kept" json:"kept"`
	Reason       string `parquet:"reason,optional,dict" json:"reason,omitempty"`
	Detail       string `parquet:"detail,optional" json:"detail,omitempty"`
}

type planned struct {
	ExampleID   string   `parquet:"example_id" json:"example_id"`
	Epoch       int32    `parquet:"epoch,delta" json:"epoch"`
	First       int32    `parquet:"first_generation,delta" json:"first_generation"`
	Generations int32    `parquet:"generations,delta" json:"generations"`
	Reason      string   `parquet:"reason,dict" json:"reason"`
	Count       int32    `parquet:"count,delta" json:"count"`
	Valid       int32    `parquet:"valid,delta" json:"valid"`
	Failed      int32    `parquet:"failed,delta" json:"failed"`
	Solved      *float64 `parquet:"solved,optional" json:"solved"`
	StdPop      *float64 `parquet:"std_pop,optional" json:"std_pop"`
}

type paired struct {
	GroupID       string  `parquet:"group_id,dict" json:"group_id"`
	Turn          string  `parquet:"turn,optional,dict" json:"turn,omitempty"`
	ChosenID      string  `parquet:"chosen_id" json:"chosen_id"`
	ChosenIndex   int32   `parquet:"chosen_index,delta" json:"chosen_index"`
	RejectedID    string  `parquet:"rejected_id" json:"rejected_id"`
	RejectedIndex int32   `parquet:"rejected_index,delta" json:"rejected_index"`
	ChosenScore   float64 `parquet:"chosen_score" json:"chosen_score"`
	RejectedScore float64 `parquet:"rejected_score" json:"rejected_score"`
	Margin        float64 `parquet:"margin" json:"margin"`
	Chosen        string  `parquet:"chosen" json:"chosen"`
	Rejected      string  `parquet:"rejected" json:"rejected"`
}

type labelled struct {
	TrajectoryID string  `parquet:"trajectory_id" json:"trajectory_id"`
	GroupID      string  `parquet:"group_id,dict" json:"group_id"`
	Generation   int32   `parquet:"generation,delta" json:"generation"`
	Desirable    bool    `parquet:"desirable" json:"desirable"`
	Reward       float64 `parquet:"reward" json:"reward"`
	Completion   string  `parquet:"completion" json:"completion"`
}

// readRows reads the requested rows into the struct for their kind. It returns an
// error for a table that does not exist.
func readRows(ctx context.Context, d *dataset.Dataset, o Options, total int64) (any, error) {
	kind := string(d.Kind)
	if o.Table != "" {
		kind = o.Table
	}
	switch kind {
	case string(formats.KindScores):
		return read[score](ctx, d, o, total)
	case string(formats.KindGroups):
		return read[member](ctx, d, o, total)
	case formats.TableGroups:
		return read[group](ctx, d, o, total)
	case formats.TableDecisions:
		return read[decision](ctx, d, o, total)
	case formats.TablePairs:
		return read[paired](ctx, d, o, total)
	case formats.TableLabels:
		return read[labelled](ctx, d, o, total)
	case formats.TablePlan:
		return read[planned](ctx, d, o, total)
	}
	return read[trajectory](ctx, d, o, total)
}

// numbered is a row and its number in its table.
type numbered[T any] struct {
	Row int64 `json:"row"`
	Is  T     `json:"is"`
}

func read[T any](ctx context.Context, d *dataset.Dataset, o Options, total int64) ([]numbered[T], error) {
	r, err := dataset.NewReader[T](ctx, d, o.Table, dataset.Range{First: o.First, Rows: total - o.First})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out []numbered[T]
	one := make([]T, 1)
	for row := o.First; len(out) < o.Rows; row++ {
		if _, err := r.Read(one); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if row, has := any(one[0]).(statused); o.Failed && !(has && row.status() == formats.StatusFailed) {
			continue
		}
		out = append(out, numbered[T]{row, one[0]})
	}
	return out, nil
}

// statused is a row with the status of a trajectory.
type statused interface{ status() string }

func (t trajectory) status() string { return t.Status }
func (s score) status() string      { return s.Status }
func (m member) status() string     { return m.Status }
