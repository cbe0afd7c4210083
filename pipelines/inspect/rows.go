package inspect

import (
	"context"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
)

// The light columns of each kind of row, named as on disk.

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

// readRows reads a range of a table into the struct for its kind. The caller
// has made the range fit; reading a table that is not there says so.
func readRows(ctx context.Context, d *dataset.Dataset, table string, r dataset.Range) (any, error) {
	kind := string(d.Kind)
	if table != "" {
		kind = table
	}
	switch kind {
	case string(formats.KindScores):
		return dataset.ReadAll[score](ctx, d, table, r)
	case string(formats.KindGroups):
		return dataset.ReadAll[member](ctx, d, table, r)
	case formats.TableGroups:
		return dataset.ReadAll[group](ctx, d, table, r)
	case formats.TableDecisions:
		return dataset.ReadAll[decision](ctx, d, table, r)
	}
	return dataset.ReadAll[trajectory](ctx, d, table, r)
}
