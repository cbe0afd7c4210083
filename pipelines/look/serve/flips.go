package serve

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/rollmill/rollmill/pipelines/look/catalogue"
	"github.com/rollmill/rollmill/pipelines/look/page"
)

// maxFlips is how many examples that flipped are shown.
const maxFlips = 50

// flip is an example that one run solved and another did not.
type flip struct {
	Example     string
	Cells       []flipCell
	least, most float64 // share that is solved
}

// flipCell is the share of an example's members that a run solved.
type flipCell struct {
	URL    string
	Solved float64
}

// examples adds the examples that flipped: in the last epoch that was validated in all runs, or
// in training if none was.
func (m *compareModel) examples(ctx context.Context, s *Server, lists []*catalogue.Listing) error {
	var of map[int][]*catalogue.Entry
	if m.Side, of = "validation", shared(lists, "validation/score"); len(of) == 0 {
		m.Side, of = "training", shared(lists, "score")
	}
	m.Epoch = -1
	for e := range of {
		m.Epoch = max(m.Epoch, e)
	}
	flips := map[string]*flip{}
	for run, f := range of[m.Epoch] {
		d, err := s.open(ctx, f)
		if err != nil {
			return err
		}
		x, _, err := s.indexes.Index(ctx, d)
		if err != nil {
			return err
		}
		for n := range uint32(x.Groups()) {
			g, example := x.Group(n), x.ExampleOf(n)
			if flips[example] == nil && run == 0 {
				flips[example] = &flip{Example: example, least: 1}
			}
			if v := flips[example]; v != nil && len(v.Cells) == run && g.Valid > 0 {
				v.Cells = append(v.Cells, flipCell{page.Link("d", f.Key, "g", x.GroupID(n)), g.Solved})
				v.least, v.most = min(v.least, g.Solved), max(v.most, g.Solved)
			}
		}
	}
	for _, v := range flips {
		if len(v.Cells) < len(lists) {
			continue
		}
		if m.Shared++; v.most >= 0.5 && v.least < 0.5 {
			m.Flips = append(m.Flips, v)
		}
	}
	slices.SortFunc(m.Flips, func(a, b *flip) int {
		return cmp.Or(cmp.Compare(b.most-b.least, a.most-a.least), cmp.Compare(a.Example, b.Example))
	})
	m.Flipped = len(m.Flips)
	m.Flips = m.Flips[:min(m.Flipped, maxFlips)]
	return nil
}

// shared returns a stage's complete datasets by epoch, one of each run: of the epochs of which
// all have it.
func shared(lists []*catalogue.Listing, stage string) map[int][]*catalogue.Entry {
	out := map[int][]*catalogue.Entry{}
	for i, l := range lists {
		for e, found := range l.Epochs() {
			if f := catalogue.Finished(found)[stage]; e >= 0 && f != nil && f.Complete && len(out[e]) == i {
				out[e] = append(out[e], f)
			}
		}
	}
	maps.DeleteFunc(out, func(_ int, of []*catalogue.Entry) bool { return len(of) < len(lists) })
	return out
}
