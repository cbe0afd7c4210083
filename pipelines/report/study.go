package report

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/advantages"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/look/page"
	"github.com/rollmill/rollmill/pipelines/look/plot"
	"github.com/rollmill/rollmill/storage"
)

// study is what the page and the histograms need beyond the figures of a Run. It has
// bounded size, whatever the size of the run.
type study struct {
	page.Study
	rewards, lengths map[int]*plot.Counts // by epoch
	found            []validate.Finding
	strata           []*stratum
}

// examine reads what a run's page needs: light columns of every row once, and nothing
// of the payload.
func examine(ctx context.Context, root string, r history.Run) (*study, error) {
	s := &study{rewards: map[int]*plot.Counts{}, lengths: map[int]*plot.Counts{}}
	s.Groups.Lists = history.NewLists()
	seed := seedOf(r)
	for i := len(r.Epochs) - 1; i >= 0; i-- { // the last first: its groups name trajectories to show
		e := r.Epochs[i].Epoch
		list, err := history.Stages(ctx, root, e)
		if err != nil {
			return nil, err
		}
		of := map[string]*dataset.Dataset{}
		for _, stage := range list {
			of[stage.Name] = stage.Dataset
		}
		for _, stage := range []struct {
			name string
			read reading
		}{
			{"group", s.groups},
			{"rollout", s.rollout(seed, false, of["group"], of["score"])},
			{"score", s.scores},
			{"validation/rollout", s.rollout(seed, true, of["validation/score"])},
		} {
			d, doctor := of[stage.name], doctor()
			if d == nil {
				continue
			}
			if err := stage.read(ctx, d, e, doctor); err != nil {
				return nil, err
			}
			s.found = append(s.found, doctor.Found(d.URI())...)
		}
	}
	slices.Reverse(s.strata)
	choose(s.strata, maxTrajectories)
	slices.SortStableFunc(s.found, func(a, b validate.Finding) int {
		return slices.Index(validate.Severities, a.Severity) - slices.Index(validate.Severities, b.Severity)
	})
	for _, f := range s.found[:min(len(s.found), maxFindings)] {
		place := strings.TrimPrefix(strings.TrimPrefix(f.URI, storage.Redact(root)), "/")
		s.Findings = append(s.Findings, page.Finding{Finding: f, Place: cmp.Or(place, "the run")})
	}
	s.FindingsLeft = len(s.found) - len(s.Findings)
	if !s.hasGroups() {
		s.Groups.Lists = nil
	}
	return s, nil
}

// reading reads a dataset of an epoch.
type reading func(context.Context, *dataset.Dataset, int, *validate.Doctor) error

// doctor returns the checks that read no payload. `rollmill audit` makes all.
func doctor() *validate.Doctor {
	return validate.NewDoctor(slices.DeleteFunc(validate.In(validate.Audit), func(c validate.Check) bool {
		return c.Payload
	}))
}

func (s *study) rollout(seed uint64, validation bool, thin ...*dataset.Dataset) reading {
	return func(ctx context.Context, d *dataset.Dataset, e int, doctor *validate.Doctor) error {
		lengths := &plot.Counts{}
		from := &stratum{Epoch: e, Validation: validation, d: d, wanted: map[string]bool{}}
		if !validation && e == s.Study.Epoch {
			for _, l := range s.Groups.Lists {
				for _, g := range l.Groups {
					for _, m := range g.Extremes() {
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
			from.Add(seed, n, t.TrajectoryID)
			if row.Valid() {
				lengths.Add(float64(cmp.Or(t.SampledTokens, t.CompletionTokens)))
			}
			n++
		}
		if !validation && lengths.N > 0 {
			s.lengths[e] = lengths
		}
		for _, x := range thin {
			if from.thin == nil && x != nil && x.Base != nil && d.Is(x.Base) {
				from.thin = x
			}
		}
		s.strata = append(s.strata, from)
		return nil
	}
}

func (s *study) scores(ctx context.Context, d *dataset.Dataset, e int, doctor *validate.Doctor) error {
	rewards := &plot.Counts{}
	err := history.Each(ctx, d, "", func(n int64, t *formats.Score) {
		row := validate.ScoreRow(n, t)
		doctor.Row(&row)
		if t.Reward != nil {
			rewards.Add(*t.Reward)
		}
	})
	if rewards.N > 0 {
		s.rewards[e] = rewards
	}
	return err
}

func (s *study) groups(ctx context.Context, d *dataset.Dataset, e int, doctor *validate.Doctor) error {
	doctor.WantsGroups() // from their statistics
	first := !s.hasGroups()
	err := advantages.EachGroup(ctx, d, func(g *formats.GroupStats, trains training.Training) {
		doctor.Group(g, trains)
		if first {
			history.Offer(s.Groups.Lists, g)
		}
	})
	if err != nil {
		return err
	}
	of := map[string][]*history.ShownGroup{}
	if first && s.hasGroups() {
		s.Study.Epoch = e
		for _, l := range s.Groups.Lists {
			for _, g := range l.Groups {
				of[g.GroupID] = append(of[g.GroupID], g)
			}
		}
	}
	err = history.Each(ctx, d, "", func(n int64, m *formats.Member) {
		row := validate.MemberRow(n, m)
		doctor.Row(&row)
		for _, g := range of[m.GroupID] {
			if len(g.Members) < history.MaxMembers {
				g.Members = append(g.Members, history.ShownMember{ID: m.TrajectoryID, Reward: m.Reward, Advantage: m.Advantage})
			}
		}
	})
	return err
}

func (s *study) hasGroups() bool { return len(s.Groups.Lists[0].Groups) > 0 }
