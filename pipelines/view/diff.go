package view

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"path"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/pipelines/inspect"
	"github.com/rollmill/rollmill/pipelines/view/index"
)

// maxMovers is the number of trajectories of a diff that are shown.
const maxMovers = 25

// diffModel is the page of what changed between two datasets of scores.
type diffModel struct {
	Frame
	Scores  map[string][]*Found // datasets that can be compared, by the rollout that they score
	A, B    string              // keys; "" for none
	Reward  string              // "" for the total
	Diff    *inspect.Difference
	Names   []string // of the components
	Changes []change
	Movers  []mover
}

// change is how a component of the reward differs.
type change struct {
	Name             string
	URL              string // of the diff of this component
	Compared         int
	Up, Down         int
	Gained, Lost     int // was null in A, in B
	MeanA, MeanB     float64
	sumA, sumB, move float64
}

// Moved is the number of values that changed.
func (c *change) Moved() int { return c.Up + c.Down }

// Movement is the mean change of a value, without its sign.
func (c *change) Movement() float64 { return c.move / float64(c.Compared) }

// mover is a trajectory whose reward changed, with its components.
type mover struct {
	inspect.Mover
	URL   string
	Moved []string // components, with both values
}

func (s *Server) diffPage(r *http.Request) (any, error) {
	l, err := s.datasets.list(r.Context())
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	m := &diffModel{Frame: Frame{Title: "Diff of scores", Trail: s.trail("")}, A: q.Get("a"), B: q.Get("b"),
		Reward: q.Get("reward")}
	if f := l.byKey[m.A]; f != nil {
		m.Trail = s.trailOf(f)
	}
	a, b, err := s.pairs(r.Context(), m, l)
	switch {
	case err != nil:
		return nil, err
	case m.A != "" && m.B != "":
		return m, s.diff(r.Context(), m)
	case a != "":
		return nil, elsewhere(query("/diff", "a", a, "b", b, "reward", m.Reward))
	}
	return m, nil
}

// maxScores is how many datasets of scores are looked at: those of the last epochs.
const maxScores = 256

// pairs lists the datasets that score the same trajectories as another, and returns the last
// two whose scores differ, one of them the dataset that was asked for if there is one.
func (s *Server) pairs(ctx context.Context, m *diffModel, l *listing) (a, b string, err error) {
	var scores []*Found
	for _, f := range slices.Backward(l.found) {
		if f.Complete && !slices.Contains(notScores, path.Base(f.Stage)) && len(scores) < maxScores {
			scores = append(scores, f)
		}
	}
	if err := s.openAll(ctx, scores); err != nil {
		return "", "", err
	}
	m.Scores = map[string][]*Found{}
	opened := map[*Found]*dataset.Dataset{}
	for _, f := range scores {
		d, err := s.open(ctx, f)
		if err != nil || d.Base == nil || d.Kind != formats.KindScores {
			continue // its own page says what is wrong
		}
		opened[f] = d
		rollout := path.Join(f.Key, d.Base.URI)
		for _, later := range m.Scores[rollout] {
			o := opened[later]
			if a == "" && o.Base.Digest == d.Base.Digest && o.RowsDigest != d.RowsDigest &&
				(m.A == "" || m.A == f.Key || m.A == later.Key) {
				a, b = f.Key, later.Key
			}
		}
		m.Scores[rollout] = slices.Insert(m.Scores[rollout], 0, f)
	}
	maps.DeleteFunc(m.Scores, func(_ string, same []*Found) bool { return len(same) < 2 })
	if m.A == b {
		a, b = b, a
	}
	return a, b, nil
}

// notScores are the names of datasets that hold no scores.
var notScores = []string{"rollout", "group", "curate", "submit", "policy"}

func (s *Server) diff(ctx context.Context, m *diffModel) error {
	var sides [2]*Found
	var indexes [2]*index.Index
	for i, key := range []string{m.A, m.B} {
		f, err := s.lookup(ctx, key)
		if err != nil {
			return err
		}
		sides[i] = f
	}
	var err error
	if m.Diff, err = inspect.Diff(ctx,
		inspect.DiffOptions{A: sides[0].URI, B: sides[1].URI, Reward: m.Reward, Movers: maxMovers}); err != nil {
		return err
	}
	for i, f := range sides {
		if indexes[i], err = s.indexOf(ctx, f); err != nil {
			return err
		}
	}
	m.components(indexes[0], indexes[1])
	for _, v := range m.Diff.Movers {
		m.Movers = append(m.Movers, moverOf(m.B, v, indexes[0], indexes[1]))
	}
	return nil
}

// components adds how each component differs, the one that moved most first.
func (m *diffModel) components(a, b *index.Index) {
	names := map[string]bool{}
	for _, name := range slices.Concat(a.Components(), b.Components()) {
		names[name] = true
	}
	m.Names = slices.Sorted(maps.Keys(names))
	for _, name := range m.Names {
		c := change{Name: name, URL: query("/diff", "a", m.A, "b", m.B, "reward", name)}
		index.Pairs(a, b, name, c.add)
		c.MeanA, c.MeanB = c.sumA/float64(c.Compared), c.sumB/float64(c.Compared)
		m.Changes = append(m.Changes, c)
	}
	slices.SortStableFunc(m.Changes, func(a, b change) int { return cmp.Compare(b.move, a.move) })
}

// add adds the values of a row, NaN for null.
func (c *change) add(a, b float64) {
	switch {
	case math.IsNaN(a) && math.IsNaN(b):
		return
	case math.IsNaN(a):
		c.Gained++
		return
	case math.IsNaN(b):
		c.Lost++
		return
	case b > a:
		c.Up++
	case b < a:
		c.Down++
	}
	c.Compared++
	c.sumA, c.sumB, c.move = c.sumA+a, c.sumB+b, c.move+math.Abs(b-a)
}

// moverOf returns a trajectory with the components that changed.
func moverOf(key string, v inspect.Mover, a, b *index.Index) mover {
	out := mover{Mover: v, URL: link("d", key, "t", v.TrajectoryID)}
	before := map[string]float64{}
	for _, c := range a.At(uint32(v.Row)).Components {
		before[c.Name] = c.Value
	}
	for _, c := range b.At(uint32(v.Row)).Components {
		was, had := before[c.Name]
		if !had {
			was = math.NaN()
		}
		if was != c.Value && !(math.IsNaN(was) && math.IsNaN(c.Value)) {
			out.Moved = append(out.Moved, fmt.Sprintf("%s %s → %s", c.Name, figure(was), figure(c.Value)))
		}
		delete(before, c.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if v := before[name]; !math.IsNaN(v) {
			out.Moved = append(out.Moved, fmt.Sprintf("%s %s → –", name, figure(v)))
		}
	}
	return out
}
