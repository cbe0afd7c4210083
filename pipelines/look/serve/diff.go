package serve

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/catalogue"
	"github.com/rollmill/rollmill/pipelines/look/diff"
	"github.com/rollmill/rollmill/pipelines/look/page"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// How many trajectories of a diff are read, and in how many rows they are shown.
const (
	maxMovers = 400
	maxRows   = 25
)

// diffModel is the page of what changed between two datasets of scores.
type diffModel struct {
	Frame
	Scores  map[string][]*catalogue.Entry // datasets that can be compared, by the rollout that they score
	A, B    string                        // keys; "" for none
	Reward  string                        // "" for the total
	Diff    *diff.Difference
	Names   []string // of the components
	Changes []*diff.Change
	Movers  []mover
}

// mover is a trajectory whose reward changed, with its components.
type mover struct {
	diff.Mover
	URL   string
	Moved []string // components, with both values
	Same  []Crumb  // further trajectories with the same rewards and answer
}

func (s *Server) diffPage(r *http.Request) (any, error) {
	l, err := s.datasets.List(r.Context())
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	m := &diffModel{Frame: Frame{Title: "Diff of scores", Trail: s.trail("")}, A: q.Get("a"), B: q.Get("b"),
		Reward: q.Get("reward")}
	if f := l.ByKey[m.A]; f != nil {
		m.Trail = s.trailOf(f)
	}
	a, b, err := s.pairs(r.Context(), m, l)
	switch {
	case err != nil:
		return nil, err
	case m.A != "" && m.B != "":
		return m, s.diff(r.Context(), m)
	case a != "":
		return nil, elsewhere(page.WithQuery("/diff", "a", a, "b", b, "reward", m.Reward))
	}
	return m, nil
}

// maxScores is how many datasets of scores are looked at: those of the last epochs.
const maxScores = 256

// pairs lists the datasets that score the same trajectories as another, and returns the last
// two whose scores differ, one of them the dataset that was asked for if there is one.
func (s *Server) pairs(ctx context.Context, m *diffModel, l *catalogue.Listing) (a, b string, err error) {
	var scores []*catalogue.Entry
	for _, f := range slices.Backward(l.Entries) {
		if f.Complete && !slices.Contains(notScores, path.Base(f.Stage)) && len(scores) < maxScores {
			scores = append(scores, f)
		}
	}
	if err := s.openAll(ctx, scores); err != nil {
		return "", "", err
	}
	m.Scores = map[string][]*catalogue.Entry{}
	opened := map[*catalogue.Entry]*dataset.Dataset{}
	for _, f := range scores {
		d, err := s.open(ctx, f)
		if err != nil || d.Base == nil || d.Kind != schema.KindScores {
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
	maps.DeleteFunc(m.Scores, func(_ string, same []*catalogue.Entry) bool { return len(same) < 2 })
	if m.A == b {
		a, b = b, a
	}
	return a, b, nil
}

// notScores are the names of datasets that hold no scores.
var notScores = []string{"rollout", "group", "curate", "submit", "policy"}

func (s *Server) diff(ctx context.Context, m *diffModel) error {
	var of [2]string
	for i, key := range []string{m.A, m.B} {
		f, err := s.lookup(ctx, key)
		if err != nil {
			return err
		}
		of[i] = f.URI
	}
	var err error
	if m.Diff, err = diff.Diff(ctx, diff.DiffOptions{A: of[0], B: of[1], Reward: m.Reward, Movers: maxMovers, Solved: 1}); err != nil {
		return err
	}
	for _, v := range m.Diff.Movers {
		next := mover{v, page.Link("d", m.B, "t", v.TrajectoryID), moved(&v, m.Diff.Changes), nil}
		at := slices.IndexFunc(m.Movers, func(o mover) bool {
			return o.A == v.A && o.B == v.B && o.Answer == v.Answer && slices.Equal(o.Moved, next.Moved)
		})
		switch {
		case at >= 0:
			m.Movers[at].Same = append(m.Movers[at].Same, Crumb{fmt.Sprintf("%s #%d", text.Name(v.ExampleID), v.Generation), next.URL})
		case len(m.Movers) < maxRows:
			m.Movers = append(m.Movers, next)
		}
	}
	for _, c := range m.Diff.Changes {
		m.Names = append(m.Names, c.Name)
	}
	slices.Sort(m.Names)
	m.Changes = slices.SortedFunc(slices.Values(m.Diff.Changes), func(a, b *diff.Change) int {
		return cmp.Or(cmp.Compare(b.MeanMovement*float64(b.Compared), a.MeanMovement*float64(a.Compared)), cmp.Compare(a.Name, b.Name))
	})
	return nil
}

// moved returns the components of a trajectory that changed, with both values.
func moved(v *diff.Mover, components []*diff.Change) (out []string) {
	for _, c := range components {
		if a, b := v.Values(c.Name); (a == nil) != (b == nil) || a != nil && *a != *b {
			out = append(out, fmt.Sprintf("%s %s → %s", c.Name, text.Or(a, "%.4g", "–"), text.Or(b, "%.4g", "–")))
		}
	}
	return out
}
