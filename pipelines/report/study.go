package report

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/advantages"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/pipelines/run"
	"github.com/rollmill/rollmill/storage"
)

// study is what the page and the histograms need beyond the figures of a Run. It has
// bounded size, whatever the size of the run.
type study struct {
	rewards, lengths map[int]*counts // by epoch
	findings         []validate.Finding
	funnel           *Funnel // of the last epoch that was curated
	funnelEpoch      int
	lists            []*GroupList // of the last epoch that was grouped
	listsEpoch       int
	strata           []*stratum
}

// GroupList is a list of a few groups.
type GroupList struct {
	Title  string
	Groups []*ShownGroup
	before func(a, b *ShownGroup) int
}

// ShownGroup is a group of a GroupList.
type ShownGroup struct {
	formats.GroupStats
	Members []ShownMember
}

// ShownMember is a member of a ShownGroup.
type ShownMember struct {
	ID                string
	Reward, Advantage *float64
}

const (
	maxGroups  = 8  // in a list
	maxMembers = 32 // of a group that are shown
)

// add offers a group to a list.
func (l *GroupList) add(g *ShownGroup) {
	at, _ := slices.BinarySearchFunc(l.Groups, g, l.before)
	if at < maxGroups {
		l.Groups = slices.Insert(l.Groups, at, g)
		l.Groups = l.Groups[:min(len(l.Groups), maxGroups)]
	}
}

func newLists() []*GroupList {
	mean := func(a, b *ShownGroup) int { return cmp.Compare(*a.Mean, *b.Mean) }
	id := func(a, b *ShownGroup) int { return cmp.Compare(a.GroupID, b.GroupID) }
	return []*GroupList{
		{"Best", nil, func(a, b *ShownGroup) int { return cmp.Or(mean(b, a), id(a, b)) }},
		{"Worst", nil, func(a, b *ShownGroup) int { return cmp.Or(mean(a, b), id(a, b)) }},
		{"Most uncertain", nil, func(a, b *ShownGroup) int { return cmp.Or(cmp.Compare(*b.StdPop, *a.StdPop), id(a, b)) }},
	}
}

// offer adds a group to the lists that it belongs to.
func offer(lists []*GroupList, g *formats.GroupStats) {
	if g.Mean == nil || g.StdPop == nil {
		return
	}
	for i, l := range lists {
		if i < 2 || *g.StdPop > 0 {
			l.add(&ShownGroup{GroupStats: *g})
		}
	}
}

// GroupLists returns the best, the worst and the most uncertain groups of a dataset of
// groups, without their members.
func GroupLists(ctx context.Context, d *dataset.Dataset) ([]*GroupList, error) {
	lists := newLists()
	return lists, each(ctx, d, schema.TableGroups, func(_ int64, g *formats.GroupStats) { offer(lists, g) })
}

// examine reads what a run's page needs: light columns of every row once, and nothing
// of the payload.
func examine(ctx context.Context, root string, r Run) (*study, error) {
	s := &study{rewards: map[int]*counts{}, lengths: map[int]*counts{}, lists: newLists()}
	seed := seedOf(r)
	for i := len(r.Epochs) - 1; i >= 0; i-- { // the last first: its groups name trajectories to show
		e := r.Epochs[i].Epoch
		dir := run.Layout{Root: root}.Epoch(e)
		last, err := Last(ctx, dir, "score")
		if err != nil {
			return nil, err
		}
		for _, stage := range []struct {
			uri  string
			read func(context.Context, *dataset.Dataset, int) error
		}{
			{storage.Join(last, "group"), s.groups},
			{storage.Join(last, "rollout"), s.rollout(seed, false, storage.Join(last, "group"), storage.Join(last, "score"))},
			{storage.Join(last, "score"), s.scores},
			{storage.Join(last, "curate"), s.curated},
			{storage.Join(dir, "validation/rollout"), s.rollout(seed, true, storage.Join(dir, "validation/score"))},
		} {
			d, err := open(ctx, stage.uri)
			if err == nil && d != nil {
				err = stage.read(ctx, d, e)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	slices.Reverse(s.strata)
	choose(s.strata, maxTrajectories)
	slices.SortStableFunc(s.findings, func(a, b validate.Finding) int {
		return slices.Index(validate.Severities, a.Severity) - slices.Index(validate.Severities, b.Severity)
	})
	return s, nil
}

// doctor returns the checks that read no payload. `rollmill audit` makes all.
func doctor() *validate.Doctor {
	return validate.NewDoctor(slices.DeleteFunc(validate.In(validate.Audit), func(c validate.Check) bool {
		return c.Payload
	}))
}

func (s *study) rollout(seed uint64, validation bool, thin ...string) func(context.Context, *dataset.Dataset, int) error {
	return func(ctx context.Context, d *dataset.Dataset, e int) error {
		doctor, lengths := doctor(), &counts{}
		from := &stratum{Epoch: e, Validation: validation, d: d, wanted: map[string]bool{}}
		if !validation && e == s.listsEpoch {
			for _, l := range s.lists {
				for _, g := range l.Groups {
					for _, m := range g.extremes() {
						from.wanted[m.ID] = true
					}
				}
			}
		}
		r, err := dataset.NewHeadReader[formats.Trajectory](ctx, d, d.All())
		if err != nil {
			return err
		}
		n := int64(0)
		for t, err := range r.Each(64) {
			if err != nil {
				return err
			}
			row := validate.WideRow(n, t)
			doctor.Row(&row)
			from.add(seed, n, t.TrajectoryID)
			if row.Valid() {
				lengths.add(float64(cmp.Or(t.SampledTokens, t.CompletionTokens)))
			}
			n++
		}
		if !validation && lengths.n > 0 {
			s.lengths[e] = lengths
		}
		for _, uri := range thin {
			if from.thin != nil {
				break
			}
			x, err := open(ctx, uri)
			if err != nil {
				return err
			}
			if x != nil && x.Base != nil && d.Is(x.Base) {
				from.thin = x
			}
		}
		s.strata = append(s.strata, from)
		s.findings = append(s.findings, doctor.Found(d.URI())...)
		return nil
	}
}

func (s *study) scores(ctx context.Context, d *dataset.Dataset, e int) error {
	doctor, rewards := doctor(), &counts{}
	err := each(ctx, d, "", func(n int64, t *formats.Score) {
		row := validate.ScoreRow(n, t)
		doctor.Row(&row)
		if t.Reward != nil {
			rewards.add(*t.Reward)
		}
	})
	if rewards.n > 0 {
		s.rewards[e] = rewards
	}
	s.findings = append(s.findings, doctor.Found(d.URI())...)
	return err
}

func (s *study) groups(ctx context.Context, d *dataset.Dataset, e int) error {
	doctor := doctor()
	doctor.WantsGroups() // from their statistics
	first := !s.hasGroups()
	err := advantages.EachGroup(ctx, d, func(g *formats.GroupStats, trains training.Training) {
		doctor.Group(g, trains)
		if first {
			offer(s.lists, g)
		}
	})
	if err != nil {
		return err
	}
	of := map[string][]*ShownGroup{}
	if first && s.hasGroups() {
		s.listsEpoch = e
		for _, l := range s.lists {
			for _, g := range l.Groups {
				of[g.GroupID] = append(of[g.GroupID], g)
			}
		}
	}
	err = each(ctx, d, "", func(n int64, m *formats.Member) {
		row := validate.MemberRow(n, m)
		doctor.Row(&row)
		for _, g := range of[m.GroupID] {
			if len(g.Members) < maxMembers {
				g.Members = append(g.Members, ShownMember{m.TrajectoryID, m.Reward, m.Advantage})
			}
		}
	})
	s.findings = append(s.findings, doctor.Found(d.URI())...)
	return err
}

func (s *study) hasGroups() bool { return len(s.lists[0].Groups) > 0 }

// extremes returns the members of the greatest and of the least reward.
func (g *ShownGroup) extremes() []ShownMember {
	var out []ShownMember
	for _, m := range g.Members {
		switch {
		case m.Reward == nil:
		case len(out) == 0:
			out = []ShownMember{m, m}
		case *m.Reward > *out[0].Reward:
			out[0] = m
		case *m.Reward < *out[1].Reward:
			out[1] = m
		}
	}
	return out
}

func (s *study) curated(_ context.Context, d *dataset.Dataset, e int) error {
	if s.funnel == nil {
		s.funnel, s.funnelEpoch = FunnelOf(d), e
	}
	return nil
}

// Funnel is what the rules of curate refused.
type Funnel struct {
	Steps []decision.FunnelStep // rules that refused something
	Start int64                 // trajectories that it began with
	Quiet int                   // rules that refused nothing
}

// FunnelOf returns the funnel of a curated dataset, nil if another program wrote it.
func FunnelOf(d *dataset.Dataset) *Funnel {
	var state decision.CurateState
	if json.Unmarshal(d.State, &state) != nil {
		return nil
	}
	f := &Funnel{Start: d.Counts["kept"] + d.Counts["dropped"]}
	for _, step := range decision.Funnel(state.Order, int64(d.Facts["groups"]), f.Start, d.Facts) {
		if step.Trajectories > 0 || step.Groups > 0 {
			f.Steps = append(f.Steps, step)
		} else {
			f.Quiet++
		}
	}
	return f
}

// each calls f with the rows of a table, in order.
func each[T any](ctx context.Context, d *dataset.Dataset, table string, f func(int64, *T)) error {
	all := d.All()
	if table != "" {
		all.Rows = d.Tables[table].Rows
	}
	row := int64(0)
	for t, err := range dataset.Each[T](ctx, d, table, all) {
		if err != nil {
			return err
		}
		f(row, t)
		row++
	}
	return nil
}
