// Package diff compares two datasets over the same trajectories, by their rewards or by their
// advantages, in one epoch or in all epochs of a run.
package diff

import (
	"context"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/query"
	"github.com/rollmill/rollmill/storage/fault"
)

// DiffOptions select what to compare.
type DiffOptions struct {
	A, B   string  // datasets of score, or of group, over the same trajectories
	Reward string  // name of the reward; "" for the total, of groups for the advantage
	Movers int     // number of changed rows to show, with their text, and of flipped examples
	Solved float64 // reward from which an example is solved
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

	LostTo map[string]int64 `json:"lost_to,omitempty"` // failure classes in B of rows that lost their value

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

	Changes []*Change      `json:"-"`                 // of the named rewards; none of a run
	Signals []SignalChange `json:"signals,omitempty"` // none of a run

	points []Point
	ends   []int // of the groups in points
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

// Point is a row with a value in both.
type Point struct{ A, B float64 }

// Points are the rows compared, in row order.
func (d *Difference) Points() []Point { return d.points }

// columns are those that are read of both datasets.
var columns = []string{"trajectory_id", "example_id", "epoch", "generation", "reward", "rewards.name", "rewards.value", "rewards.failure",
	"failure", "signals.message", "signals.component", "signals.value", "group_id", "advantage", "no_advantage"}

// value returns a row's reward, of groups its advantage, or nil and the reason.
func value(r *query.Row, name string) (*float64, string) {
	if name == "" && r.GroupID != "" {
		return r.Advantage, r.NoAdvantage
	}
	if name == "" {
		return r.Reward, r.Failure
	}
	for i := range r.Rewards {
		if r.Rewards[i].Name == name {
			return r.Rewards[i].Value, r.Rewards[i].Failure
		}
	}
	return nil, outcomes.RewardMissing
}

// Diff compares two datasets of score over the same trajectories by their rewards, or two of
// group by their advantages, even if a gate refused them. It keeps three numbers per row in memory.
func Diff(ctx context.Context, o DiffOptions) (*Difference, error) {
	a, err := openScores(ctx, o.A)
	if err != nil {
		return nil, err
	}
	b, err := openScores(ctx, o.B)
	if err != nil {
		return nil, err
	}
	if a.Kind != b.Kind {
		return nil, fault.Invalid(b.URI(), "compare scores with scores, or groups with groups", nil,
			"it holds %s, and %q holds %s", b.Kind, a.URI(), a.Kind)
	}
	if a.Base == nil || b.Base == nil || a.Base.Digest != b.Base.Digest || a.Rows != b.Rows {
		return nil, fault.Invalid(b.URI(), "compare datasets over the same trajectories", nil,
			"it is not about the trajectories that %q is about", a.URI())
	}
	d := noDifference(a.URI(), b.URI(), o)
	if err := d.read(ctx, a, b, o); err != nil {
		return nil, err
	}
	d.sums()
	return d, d.texts(ctx, b)
}

func noDifference(a, b string, o DiffOptions) *Difference {
	return &Difference{A: a, B: b, Reward: o.Reward, LostTo: map[string]int64{}, Movers: []Mover{}, Flips: []Mover{},
		MovedRows: []int64{}, GainedRows: []int64{}, LostRows: []int64{}}
}

func openScores(ctx context.Context, uri string) (*dataset.Dataset, error) {
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{IgnoreGates: true})
	if err != nil {
		return nil, err
	}
	if d.Kind != schema.KindScores && d.Kind != schema.KindGroups {
		return nil, fault.Invalid(d.URI(), "name a dataset that score or group wrote", nil,
			"it holds %s, not %s or %s", d.Kind,
			schema.KindScores, schema.KindGroups)
	}
	return d, nil
}

// read reads both datasets row by row, a group at a time.
func (d *Difference) read(ctx context.Context, a, b *dataset.Dataset, o DiffOptions) error {
	next, stop := iter.Pull2(query.Rows(ctx, b, query.Query{}, columns...))
	defer stop()
	var others []query.Row
	err := dataset.GroupsOf(query.Rows(ctx, a, o.Query, columns...), group, func(rows []query.Row) error {
		others = others[:0]
		for i := range rows {
			other, err, _ := next()
			for ; err == nil && other.Number < rows[i].Number; other, err, _ = next() {
			}
			if err != nil {
				return err
			}
			if rows[i].TrajectoryID != other.TrajectoryID {
				return fault.Invalid(b.URI(), "score the trajectories again", nil, "it scores %q in the row of %q",
					other.TrajectoryID, rows[i].TrajectoryID).InRow(other.Number)
			}
			others = append(others, *other)
		}
		d.group(rows, others, o)
		return nil
	})
	for _, c := range d.Changes {
		n := float64(c.Compared)
		c.MeanA, c.MeanB, c.MeanMovement = c.MeanA/n, c.MeanB/n, c.MeanMovement/n
	}
	named := func(c *Change) bool { return c.Name == o.Reward }
	if err == nil && o.Reward != "" && !slices.ContainsFunc(d.Changes, named) {
		return fault.Invalid(b.URI(),
			"`rollmill show` lists a dataset's rewards", nil, "neither it nor %q has a reward %q",
			a.URI(), o.Reward)
	}
	return err
}

// group names the group of a row: of scores, all attempts at an example in an epoch.
func group(r *query.Row) string {
	if r.GroupID != "" {
		return r.GroupID
	}
	return formats.GroupID(r.ExampleID, int(r.Epoch))
}

func (d *Difference) group(rows, others []query.Row, o DiffOptions) {
	as, bs := make([]*float64, len(rows)), make([]*float64, len(rows))
	for i := range rows {
		r := &rows[i]
		d.changes(r, &others[i])
		d.signals(r.Signals, others[i].Signals)
		as[i], _ = value(r, o.Reward)
		var why string
		bs[i], why = value(&others[i], o.Reward)
		d.row(r.Number, as[i], bs[i], why)
		if as[i] != nil && bs[i] != nil && *as[i] != *bs[i] {
			d.mover(Mover{Row: r.Number, TrajectoryID: r.TrajectoryID, ExampleID: r.ExampleID,
				Epoch: r.Epoch, Generation: r.Generation, A: *as[i], B: *bs[i], a: r, b: &others[i]}, &o)
		}
	}
	d.Rows += int64(len(rows))
	d.Groups++
	advantages := o.Reward == "" && rows[0].GroupID != ""
	d.flip(Mover{Row: rows[0].Number, TrajectoryID: rows[0].TrajectoryID, ExampleID: rows[0].ExampleID, Epoch: rows[0].Epoch}, o, !advantages)
	signsA, flatA := signs(as, advantages)
	signsB, flatB := signs(bs, advantages)
	count(&d.FlatA, flatA)
	count(&d.FlatB, flatB)
	count(&d.BecameFlat, flatB && !flatA)
	count(&d.StoppedFlat, flatA && !flatB)
	for i := range rows {
		if as[i] == nil || bs[i] == nil {
			continue
		}
		count(&d.SignFlipped, signsA[i]*signsB[i] < 0)
		count(&d.SignToZero, signsA[i] != 0 && signsB[i] == 0)
		count(&d.SignFrom0, signsA[i] == 0 && signsB[i] != 0)
	}
}

func (d *Difference) row(row int64, a, b *float64, why string) {
	d.Moves.add(a, b)
	switch {
	case a == nil && b != nil:
		d.GainedRows = append(d.GainedRows, row)
	case a != nil && b == nil:
		d.LostRows = append(d.LostRows, row)
		d.LostTo[why]++
	case a != nil:
		d.points = append(d.points, Point{*a, *b})
		if *a != *b {
			d.MovedRows = append(d.MovedRows, row)
		}
	}
}
