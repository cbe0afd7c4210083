// Package search finds a text in the trajectories of datasets: those of one, of a run, or of a
// folder of runs. A trajectory is found once in a run, at the first place in the first dataset that
// has its texts: a rollout or an import, not what curate kept of it. Its reward is that of group, else of score,
// else the agent's own. Of a rollout that is not complete, the attempts in its journals are searched. Datasets that
// cannot be read are named in the result.
package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/pipelines/look/catalogue"
	"github.com/rollmill/rollmill/pipelines/look/find"
	"github.com/rollmill/rollmill/pipelines/look/live"
	"github.com/rollmill/rollmill/pipelines/look/query"
)

// Options say what is looked for, and how far.
type Options struct {
	Pattern *Pattern
	Limit   int // of trajectories, at which the search stops
	Open    func(context.Context, *catalogue.Entry) (*dataset.Dataset, error)
	// Report is called with each trajectory that is found, and with nil before the first row and then each time that some were read.
	Report func(r *Result, found *Hit)
}

// Result is what a search found.
type Result struct {
	Hits     []*Hit   `json:"hits"`
	AtLeast  bool     `json:"at_least"` // the search stopped before its end: there may be more
	Datasets int      `json:"datasets"` // whose texts were searched
	Searched int64    `json:"rows_searched"`
	Rows     int64    `json:"rows"`     // to search
	Bytes    int64    `json:"-"`        // there are no more to read
	Partial  bool     `json:"partial"`  // some dataset was not searched, or not whole
	Problems []string `json:"problems"` // which, and why; and what was searched though refused by a gate or not complete
}

// Much is how many bytes are said before they are read.
var Much int64 = 1_000_000_000

// search is one run of a search.
type search struct {
	Options
	*Result
	secrets *secret.Set
	opened  []*dataset.Dataset
	targets []*query.Sources   // whose base is searched
	at      []*catalogue.Entry // of targets
	begun   []unfinished
	found   map[string]bool // ids, with their run
}

// unfinished is a rollout that is not complete.
type unfinished struct {
	*catalogue.Entry
	*live.Journal
}

// Run searches the datasets of a listing. If its context ends, the error comes with what was found so far.
func Run(ctx context.Context, entries []*catalogue.Entry, o Options) (*Result, error) {
	s := &search{Options: o, secrets: secret.From(ctx), found: map[string]bool{}, Result: &Result{Hits: []*Hit{}, Problems: []string{}}}
	var at []*catalogue.Entry
	for _, f := range entries {
		if d := s.open(ctx, f); d != nil {
			s.opened, at = append(s.opened, d), append(at, f)
		}
	}
	for i, d := range s.opened {
		s.add(ctx, at[i], d)
	}
	if s.Bytes > Much { // with all columns
		s.Bytes = 0
		for _, t := range s.targets {
			n, _ := t.Base.ColumnBytes(ctx, columns) // what cannot be measured cannot be read
			s.Bytes += n
		}
	}
	s.Report(s.Result, nil)
	for i, t := range s.targets {
		if !s.AtLeast {
			s.problem(ctx, s.at[i], s.read(ctx, s.at[i], t))
		}
	}
	for _, u := range s.begun {
		if !s.AtLeast {
			s.problem(ctx, u.Entry, s.each(u.Entry, u.Each(ctx), int64(len(u.Attempts)), func(int64, *Hit) {}))
		}
	}
	s.AtLeast = s.AtLeast || ctx.Err() != nil
	return s.Result, ctx.Err()
}

// problem names a dataset and what is wrong with it; an end of the context is not.
func (s *search) problem(ctx context.Context, f *catalogue.Entry, err error) {
	if text := fmt.Sprintf("%s: %v", f.Key, err); err != nil && ctx.Err() == nil && !slices.Contains(s.Problems, text) {
		s.Partial, s.Problems = true, append(s.Problems, text)
	}
}

// open opens a dataset, also one that a gate refused; nil for one that cannot be opened.
func (s *search) open(ctx context.Context, f *catalogue.Entry) *dataset.Dataset {
	if !f.Complete { // opening it could write its manifest, which is the writer's business
		if !f.Receipt {
			s.begin(ctx, f)
		}
		return nil
	}
	d, err := s.Open(ctx, f)
	if s.problem(ctx, f, err); err != nil {
		return nil
	}
	s.problem(ctx, f, d.Known())
	for _, g := range d.Refusals() {
		s.Problems = append(s.Problems, fmt.Sprintf("%s was searched although gate %s refused it", f.Key, g.Name))
	}
	return d
}

// begin adds the attempts that have ended of a rollout that is not complete.
func (s *search) begin(ctx context.Context, f *catalogue.Entry) {
	u := unfinished{f, &live.Journal{}}
	err := errors.New("run its command again, or rollmill seal")
	if f.Segments > 0 {
		err = u.Refresh(ctx, f.URI)
	}
	if err != nil {
		s.problem(ctx, f, fmt.Errorf("not complete, and not searched: %w", err))
		return
	}
	if left := u.Totals().Rows - int64(len(u.Attempts)); left > 0 {
		s.problem(ctx, f, fmt.Errorf("not complete, and %d of its rows, of finished shards, are not searched: "+
			"run its command again, or rollmill seal", left))
	}
	s.begun, s.Rows = append(s.begun, u), s.Rows+int64(len(u.Attempts))
	s.Problems = append(s.Problems, fmt.Sprintf("%s is not complete: the attempts in its journals were searched", f.Key))
}

// add adds a dataset to those that are searched, unless another of them has its texts.
func (s *search) add(ctx context.Context, f *catalogue.Entry, d *dataset.Dataset) {
	if s.copied(d) || slices.ContainsFunc(s.targets, func(t *query.Sources) bool { return t.Base.Is(d.Base) }) {
		return
	}
	from, err := query.SourcesOf(ctx, d)
	if s.problem(ctx, f, err); err != nil {
		return
	}
	for _, p := range from.Problems {
		s.problem(ctx, f, fmt.Errorf("without these rewards: %s", p))
	}
	s.targets, s.at = append(s.targets, from), append(s.at, f)
	s.Rows += from.Base.Rows
	s.Bytes += from.Base.StoredBytes()
}

// copied reports whether a dataset has its texts from wide ones that are open: through its base, or through all inputs of curate.
func (s *search) copied(d *dataset.Dataset) (all bool) {
	from := d.Inputs
	if d.Base != nil {
		from = []manifest.Ref{*d.Base}
	} else if d.Stage != find.StageCurate {
		return false
	}
	for _, ref := range from {
		if ref.Identity != "" && ref.Role != "previous" { // not a file, nor an epoch with rows of its own
			wide := func(o *dataset.Dataset) bool { return o.Is(&ref) && (o.Kind == schema.KindTrajectories || s.copied(o)) }
			if all = slices.ContainsFunc(s.opened, wide); !all {
				return false
			}
		}
	}
	return all
}

// read searches one dataset.
func (s *search) read(ctx context.Context, f *catalogue.Entry, t *query.Sources) error {
	r, err := dataset.NewReaderOf[formats.Trajectory](ctx, t.Base, t.Base.All(), columns)
	if err != nil {
		return err
	}
	from := cmp.Or(t.Members, t.Scores, t.Base)
	return s.each(f, r.Each(readRows), t.Base.Rows, func(row int64, h *Hit) {
		if r, err := query.At(ctx, from, row, "trajectory_id", "reward"); err != nil || r.TrajectoryID != h.TrajectoryID {
			s.problem(ctx, f, fmt.Errorf("the rewards of what was found are not known: %s is damaged, or of other rows (%v)",
				from.URI(), err))
		} else {
			h.Reward = r.Reward
		}
	})
}

// each searches rows, of which there are n. A hit has the agent's own reward until rewarded gives it another.
func (s *search) each(f *catalogue.Entry, rows iter.Seq2[*formats.Trajectory, error], n int64,
	rewarded func(row int64, h *Hit)) error {
	row := int64(-1)
	s.Datasets++
	for x, err := range rows {
		if row++; err != nil {
			return fmt.Errorf("searched up to row %d of %d: %w", row, n, err)
		}
		if s.Searched++; row%readRows == 0 {
			s.Report(s.Result, nil)
		}
		h, id := s.hit(x), f.Run+"\x00"+x.TrajectoryID
		if h == nil || s.found[id] {
			continue
		}
		s.found[id] = true
		h.TrajectoryID, h.ExampleID, h.Dataset = strings.Clone(x.TrajectoryID), strings.Clone(x.ExampleID), f.Key
		h.Reward = x.Reward
		rewarded(row, h)
		s.Hits = append(s.Hits, h)
		if s.Report(s.Result, h); len(s.Hits) == s.Limit {
			s.AtLeast = true
			break
		}
	}
	return nil
}
