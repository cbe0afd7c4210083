package model

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
)

// Appearance is the row of a dataset in which the trajectory is.
type Appearance struct {
	URI string `json:"uri"`
	Row int64  `json:"row"`
}

// OfMessage is a number of a sampled message.
type OfMessage struct {
	Message int32   `json:"message"`
	Name    string  `json:"name"`
	Value   float64 `json:"value"`            // the mean of those of its tokens, if they have their own
	Tokens  int     `json:"tokens,omitempty"` // that have
}

// Component is a named reward.
type Component struct {
	Name    string   `json:"name"`
	Value   *float64 `json:"value"`
	Weight  float64  `json:"weight"`
	Failure string   `json:"failure,omitempty"`
	Error   string   `json:"error,omitempty"`
	Reason  string   `json:"reason,omitempty"` // why it has this value, as a judge says it

	Traceback string `json:"traceback,omitempty"` // the whole of it, if the error is its last line
}

// Grouped is the result in one group dataset.
type Grouped struct {
	Appearance
	Estimator   string   `json:"estimator,omitempty"`
	Compat      string   `json:"compat,omitempty"`
	GroupID     string   `json:"group_id"`
	Count       int32    `json:"count"`
	Valid       int32    `json:"valid"`
	Mean        *float64 `json:"mean"`
	StdPop      *float64 `json:"std_pop"`
	Min         *float64 `json:"min"`
	Max         *float64 `json:"max"`
	Reward      *float64 `json:"reward"`
	Advantage   *float64 `json:"advantage"`
	NoAdvantage string   `json:"no_advantage,omitempty"`

	Messages    []OfMessage `json:"messages,omitempty"`     // advantages of their own, and weights in losses
	ChosenOver  []string    `json:"chosen_over,omitempty"`  // trajectories that it is preferred to in _pairs
	RejectedFor []string    `json:"rejected_for,omitempty"` // trajectories that are preferred to it
}

// Curated is the decision in one curated dataset.
type Curated struct {
	Appearance          // in _decisions
	Kept       bool     `json:"kept"`
	Reason     string   `json:"reason,omitempty"`
	Detail     string   `json:"detail,omitempty"`
	Rules      []string `json:"rules,omitempty"` // the rules that ran, in order

	RowsDigest string `json:"-"`
}

func ComponentsOf(rewards []formats.NamedReward) []Component {
	components := make([]Component, len(rewards))
	for i, r := range rewards {
		components[i] = Component{Name: r.Name, Value: r.Value, Weight: r.Weight, Failure: r.Failure, Error: r.Error, Reason: r.Reason}
	}
	return components
}

// Made adds how a dataset's advantages were made.
func (g *Grouped) Made(d *dataset.Dataset) {
	var how training.GroupState
	if json.Unmarshal(d.State, &how) == nil {
		g.Estimator, g.Compat = how.Estimator, how.Compat
	}
}

// Statistics adds the statistics of the group.
func (g *Grouped) Statistics(ctx context.Context, d *dataset.Dataset) error {
	for r, err := range dataset.Each[formats.GroupStats](ctx, d, schema.TableGroups, d.AllOf(schema.TableGroups)) {
		if err != nil {
			return err
		}
		if r.GroupID == g.GroupID {
			g.Count, g.Valid, g.Mean, g.StdPop, g.Min, g.Max = r.Count, r.Valid, r.Mean, r.StdPop, r.Min, r.Max
			return nil
		}
	}
	return nil
}

func (g *Grouped) Pairs(ctx context.Context, d *dataset.Dataset, id string) error {
	if _, has := d.Tables[schema.TablePairs]; !has {
		return nil
	}
	type pair struct {
		ChosenID   string `parquet:"chosen_id"`
		RejectedID string `parquet:"rejected_id"`
	}
	for p, err := range dataset.Each[pair](ctx, d, schema.TablePairs, d.AllOf(schema.TablePairs)) {
		if err != nil {
			return err
		}
		switch id {
		case p.ChosenID:
			g.ChosenOver = append(g.ChosenOver, strings.Clone(p.RejectedID))
		case p.RejectedID:
			g.RejectedFor = append(g.RejectedFor, strings.Clone(p.ChosenID))
		}
	}
	return nil
}

// RulesOf returns the rules of a curated dataset, in the order they ran.
func RulesOf(d *dataset.Dataset) []string {
	var state decision.CurateState
	_ = json.Unmarshal(d.State, &state) // of another program: none
	return state.Order
}

// Adds returns what the component adds to the reward, if that is the weighted sum.
func (c Component) Adds() *float64 {
	if c.Value == nil {
		return nil
	}
	return new(*c.Value * c.Weight)
}
