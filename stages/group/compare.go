package group

import (
	"context"
	"encoding/json"
	"math"
)

// Comparison is what estimators make of the same rewards. Their advantages are those that
// group writes, before a step of the whole batch (Finisher). With a StepEstimator, signs and
// ranks are those of messages, each counted by its tokens; an estimator that has none of its
// own for a message has its trajectory's.
type Comparison struct {
	In         string       `json:"in"`
	Rows       int64        `json:"rows"`
	Groups     int64        `json:"groups"`
	Unit       string       `json:"unit"` // what agreements count: member or token
	Estimators []*Estimated `json:"estimators"`
	Pairs      []Agreement  `json:"pairs"`
	Simulation *Simulation  `json:"simulation,omitempty"`

	tokens []float64 // of each message, those that its call counted
}

// Estimated is what one estimator makes of the rewards. The mass of a group, about what it
// adds to a policy gradient, is the sum over its members of |advantage| times sampled tokens,
// by message where messages have advantages of their own.
type Estimated struct {
	Name     string     `json:"estimator"`
	Null     int64      `json:"null_advantages"`
	Groups   int64      `json:"groups_with_advantages"`
	Flat     int64      `json:"groups_flat"`    // of these: nothing of them trains
	TopTenth Figure     `json:"mass_top_tenth"` // share of the mass in the tenth of scored groups, rounded up, that has most
	Classes  []Class    `json:"mass_by_solved"`
	Cut      *Agreement `json:"simulated,omitempty"` // of whole groups (A) with what each draw left of them (B): means over draws

	grouper Grouper
	masses  []float64 // of groups with a scored member
	draws   []draw    // all members; those of groups that are large enough to cut; and what each repeat leaves of these
}

// Class is the scored groups in which a share of the scored members is solved.
type Class struct {
	Solved string `json:"solved"` // one of classes
	Groups int64  `json:"groups"`
	Mass   Figure `json:"mass"` // share of all mass
}

// classes are ranges of shares.
var classes = []string{"0", "(0, .25]", "(.25, .5]", "(.5, .75]", "(.75, 1)", "1"}

// Agreement compares advantages A with advantages B, where both are.
type Agreement struct {
	A           string `json:"a,omitempty"`
	B           string `json:"b,omitempty"`
	Compared    Figure `json:"compared"`     // members or tokens
	SignDiffers Figure `json:"sign_differs"` // share of them; 0 is a sign of its own
	Spearman    Figure `json:"spearman"`     // rank correlation
	FlatA       Figure `json:"flat_a"`       // share of flat groups among those with advantages
	FlatB       Figure `json:"flat_b"`
}

// Figure is a number, NaN (null in JSON) if it is that of nothing. Shares are from 0 to 1.
type Figure float64

// MarshalJSON writes null for NaN, and for what overflowed.
func (f Figure) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(f))
}

// Simulation asks what fewer generations would have given: N members of each group remain,
// drawn Repeats times. A draw depends on Seed and the members' ids alone.
type Simulation struct {
	N       int   `json:"n"` // 0: none
	Repeats int   `json:"repeats"`
	Seed    int64 `json:"seed"`
	Small   int64 `json:"groups_too_small"` // of fewer members, which are left out
}

// Compare computes the advantages that each of o.Estimator.More, at least one, gives to the
// groups of o.In, and writes nothing. It keeps 4 bytes for each row and estimator, as many
// for each repeat, and some 60 bytes a row while it correlates ranks; with a StepEstimator
// these are bytes a sampled message. A SequentialEstimator is refused.
func Compare(ctx context.Context, o Options, s Simulation) (*Comparison, error) {
	if s.N < 0 || s.N > 0 && s.Repeats < 1 {
		return nil, usage("keep 1 member or more, and draw once or more", "group: --simulate-n %d, --simulate-repeats %d", s.N, s.Repeats)
	}
	o.Estimator.Name, o.Pairs, o.Labels = o.Estimator.More[0], Pairs{}, false // nothing else is made
	if err := o.Validate(); err != nil {
		return nil, err
	}
	c, draws := &Comparison{Unit: "member", Pairs: []Agreement{}}, 1
	if s.N > 0 {
		c.Simulation, draws = &s, 2+s.Repeats
	}
	j := &job{o: &o, tally: &tally{}, comparison: c}
	for _, o.Estimator.Name = range o.Estimator.More {
		e, err := o.estimator()
		if err != nil {
			return nil, err
		}
		if _, ok := e.(SequentialEstimator); ok {
			return nil, usage("leave it out", "group: --compare %s: its advantages depend on the rows before", o.Estimator.Name)
		}
		if _, ok := e.(StepEstimator); ok {
			c.Unit = "token"
		}
		j.estimators = append(j.estimators, e)
		c.Estimators = append(c.Estimators, &Estimated{Name: o.Estimator.Name, draws: make([]draw, draws),
			Classes: make([]Class, len(classes)), grouper: Grouper{Estimator: e, Tolerance: o.tolerance(), Solved: o.solved()}})
	}
	var err error
	if j.in, err = openInput(ctx, &o); err != nil {
		return nil, err
	}
	for _, e := range c.Estimators {
		for r := range e.draws {
			e.draws[r].tally = *newTally(&o, e.grouper.Estimator)
			e.draws[r].advantages = make([]float32, 0, j.in.base.Rows)
		}
	}
	if c.In, err = j.in.rows.URI(), j.run(ctx); err != nil {
		return nil, err
	}
	c.finish()
	return c, nil
}
