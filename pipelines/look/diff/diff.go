// Package diff compares two datasets over the same trajectories, by their rewards or by their
// advantages, in one epoch or in all epochs of a run.
package diff

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/query"
	"github.com/rollmill/rollmill/storage/fault"
)

// DiffOptions select what to compare.
type DiffOptions struct {
	A, B    string  // datasets of score, or of group, over the same trajectories; A may be these, for rewards of their own
	Reward  string  // name of the reward; "" for the total, of groups for the advantage
	RewardB string  // its name in B; "": the same
	Movers  int     // number of changed rows to show, with their text, and of flipped examples
	Solved  float64 // reward from which an example is solved
	// of the rows of A: only those that it chooses, and Movers are the first in its order; "": those that changed most
	Query query.Query
}

// Difference is the change of the rewards, or of groups' advantages, from A to B.
type Difference struct {
	A      string `json:"a"`
	B      string `json:"b"`
	Reward string `json:"reward,omitempty"`
	Rows   int64  `json:"rows"`

	Moves

	MovedRows  []int64 `json:"moved_rows"` // numbers of the moved rows, in order
	GainedRows []int64 `json:"gained_rows"`
	LostRows   []int64 `json:"lost_rows"`

	FlippedRows int64 `json:"flipped_rows"` // compared rows that are solved on one side only

	LostTo     map[string]int64 `json:"lost_to,omitempty"`     // failure classes in B of rows that lost their value
	GainedFrom map[string]int64 `json:"gained_from,omitempty"` // and in A of those that gained one

	MeanA        *float64 `json:"mean_a"` // over the rows compared
	MeanB        *float64 `json:"mean_b"`
	MeanMovement *float64 `json:"mean_movement"` // of |b - a|
	// standard error of the mean of b - a, by groups; null for fewer than two
	ChangeStdErr *float64 `json:"change_std_err"`
	// rank correlation, ties at their mean rank; null without two different values on either side
	Spearman *float64 `json:"spearman"`

	Groups      int64 `json:"groups"`
	FlatA       int64 `json:"flat_a"` // two or more values, all equal
	FlatB       int64 `json:"flat_b"`
	BecameFlat  int64 `json:"became_flat"`
	StoppedFlat int64 `json:"stopped_flat"`

	SignFlipped int64 `json:"sign_flipped"` // advantages, of scores the reward minus the group's mean, that went from + to - or back
	SignToZero  int64 `json:"sign_to_zero"`
	SignFrom0   int64 `json:"sign_from_zero"`

	Movers  []Mover `json:"movers"`
	Flipped int64   `json:"flipped"` // groups that the best reward solves on one side only
	Flips   []Mover `json:"flips"`   // the first of them: the first row, and the best rewards

	Epoch  int           `json:"epoch"`            // of one in Epochs
	Epochs []*Difference `json:"epochs,omitempty"` // of a run: those added up here, where no row has a number
	Absent []int         `json:"absent,omitempty"` // epochs that have not both datasets
	Same   bool          `json:"same,omitempty"`   // A and B are one dataset, of a run in every epoch

	Changes []*Change      `json:"-"`                 // of the named rewards; none of a run
	Signals []SignalChange `json:"signals,omitempty"` // none of a run

	own    [2]bool      // the reward of a side came with the trajectories
	Points [][2]float64 `json:"-"` // a and b of the rows compared, in row order
	ends   []int        // of the groups in them
}

// Moves count rows by how a value of theirs differs.
type Moves struct {
	Compared int64 `json:"compared"` // rows with a value in both
	Moved    int64 `json:"moved"`    // compared rows whose value changed
	Up       int64 `json:"up"`
	Down     int64 `json:"down"`
	Gained   int64 `json:"gained"` // null in A, not in B
	Lost     int64 `json:"lost"`   // null in B, not in A
	Neither  int64 `json:"neither"`
}

func (m *Moves) add(a, b *float64) {
	both := a != nil && b != nil
	count(&m.Compared, both)
	count(&m.Moved, both && *a != *b)
	count(&m.Up, both && *a < *b)
	count(&m.Down, both && *a > *b)
	count(&m.Gained, a == nil && b != nil)
	count(&m.Lost, a != nil && b == nil)
	count(&m.Neither, a == nil && b == nil)
}

func count(n *int64, when bool) {
	if when {
		*n++
	}
}

// Change is how a named reward differs. The means are over the rows compared, NaN
// without any.
type Change struct {
	Name string
	Moves
	MeanA, MeanB float64
	MeanMovement float64 // of |b - a|
}

// changes adds a row to the changes of the named rewards, as sums.
func (d *Difference) changes(a, b *query.Row) {
	for _, s := range []*query.Row{a, b} {
		for _, r := range s.Rewards {
			if !slices.ContainsFunc(d.Changes, func(c *Change) bool { return c.Name == r.Name }) {
				d.Changes = append(d.Changes, &Change{Name: strings.Clone(r.Name)})
			}
		}
	}
	for _, c := range d.Changes {
		x, _ := value(a, c.Name)
		y, _ := value(b, c.Name)
		if c.add(x, y); x != nil && y != nil {
			c.MeanA, c.MeanB, c.MeanMovement = c.MeanA+*x, c.MeanB+*y, c.MeanMovement+math.Abs(*y-*x)
		}
	}
}

// Diff compares two datasets of score over the same trajectories by their rewards, or two of
// group by their advantages, even if a gate refused them. It keeps three numbers per row in memory.
func Diff(ctx context.Context, o DiffOptions) (*Difference, error) {
	a, err := openScores(ctx, o.A, schema.KindTrajectories)
	if err != nil {
		return nil, err
	}
	b, err := openScores(ctx, o.B)
	if err != nil {
		return nil, err
	}
	if (a.Kind == schema.KindGroups) != (b.Kind == schema.KindGroups) {
		return nil, fault.Invalid(b.URI(), "compare scores with scores, or groups with groups", nil,
			"it holds %s, and %q holds %s", b.Kind, a.URI(), a.Kind)
	}
	same := a.Is(b.Base) || a.Base != nil && b.Base != nil && a.Base.Digest == b.Base.Digest
	if !same || a.Rows != b.Rows {
		return nil, fault.Invalid(b.URI(), "compare datasets over the same trajectories", ErrOther,
			"it is not about the trajectories that %q is about", a.URI())
	}
	d := noDifference(a.URI(), b.URI(), o)
	ref := a.Ref("", "")
	d.Same = b.Is(&ref) && cmp.Or(o.RewardB, o.Reward) == o.Reward
	d.own = [2]bool{a.Base == nil || o.Reward == formats.AgentReward, cmp.Or(o.RewardB, o.Reward) == formats.AgentReward}
	if err := d.read(ctx, a, b, o); err != nil {
		return nil, err
	}
	d.sums()
	return d, d.texts(ctx, b)
}

// ErrOther is in the error about datasets over different trajectories.
var ErrOther = errors.New("they have different bases")

func noDifference(a, b string, o DiffOptions) *Difference {
	return &Difference{A: a, B: b, Reward: o.Reward, LostTo: map[string]int64{}, GainedFrom: map[string]int64{}, Movers: []Mover{}, Flips: []Mover{},
		MovedRows: []int64{}, GainedRows: []int64{}, LostRows: []int64{}}
}
