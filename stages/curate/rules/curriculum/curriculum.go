// Package curriculum begins with the easiest groups and takes more of them as
// epochs go by.
//
// The documented behaviour: of the groups whose rewards differ by at least
// the minimum difference, the share with the highest mean reward is kept (the
// lowest, when ascending), rounded up and at least one group. The share is of
// these surviving groups, so the number moves with the data. It begins at
// Initial and grows by Increment, up to 1, every Interval epochs: with an
// interval of 5, epochs 0 to 4 use the initial share, 5 to 9 the next. Share
// and last expansion are carried from epoch to epoch in the manifest's state,
// and advance in an epoch that chose nothing too; without --previous they are
// those of a run that began at epoch 0. Then, if asked for, a random share of
// the trajectories of each kept group is taken, rounded up.
//
// Equal means are ranked by a seeded hash of the group's id, not by place.
//
// NAT's code does otherwise (see nat.go, --compat nat): its first expansion
// comes one epoch early (with an interval of 1 the initial share is never
// used); an epoch without surviving groups, or with a single group, does not
// expand; a single group is not filtered at all; the subsample is of groups,
// unseeded; nothing reloads the state; and shares are compared and multiplied
// as they come out of repeated addition (0.3 + 0.2 + 0.2 + 0.2 is
// 0.8999999999999999), which can round up to one group more or less.
package curriculum

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
)

// Kind is the registry's entry.
var Kind = curate.Kind{
	Name:    formats.RuleCurriculum,
	Help:    "take the easiest groups first, and more of them every few epochs",
	Reasons: []string{formats.DropMinRewardDiff, formats.DropCurriculum, formats.DropSubsample},
	New: func(o curate.Options) (curate.Rule, error) {
		switch {
		case !o.Curriculum.Enabled:
			return nil, nil
		case o.Compat == curate.CompatNAT:
			return nat{o.Curriculum}, nil
		}
		return documented{o.Curriculum}, nil
	},
}

// noise is what sums of decimal fractions may be off by.
const noise = 1e-9

type documented struct{ curate.Curriculum }

func (d documented) Groups(b curate.Batch, groups []curate.Group) (curate.Ruling, error) {
	state, err := d.advance(b)
	if err != nil {
		return curate.Ruling{}, err
	}
	verdicts := make([]curate.Verdict, len(groups))
	order := survivors(groups, verdicts, *d.MinRewardDiff-noise)
	tie := make([]int64, len(groups))
	for _, i := range order {
		tie[i] = formats.Seed(b.Seed, "curriculum", groups[i].ID)
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(d.compare(groups[i].Mean, groups[j].Mean), cmp.Compare(tie[i], tie[j]), cmp.Compare(groups[i].ID, groups[j].ID))
	})
	cut(&state, verdicts, order, ceil(float64(len(order))*state.Share-noise))
	return curate.Ruling{Verdicts: verdicts, State: state}, nil
}

// advance returns the state with the share of this epoch.
func (d documented) advance(b curate.Batch) (formats.CurriculumState, error) {
	s := formats.CurriculumState{Share: d.Initial}
	if err := restore(b, &s); err != nil {
		return s, err
	}
	for s.Share < 1 && b.Epoch-s.LastExpansion >= d.Interval {
		s.Share = min(1, math.Round((s.Share+d.Increment)*1e9)/1e9)
		s.LastExpansion += d.Interval
	}
	return s, nil
}

// Members keeps a seeded share of the group's trajectories.
func (d documented) Members(b curate.Batch, members []formats.Member) []curate.Verdict {
	if d.RandomSubsample == nil {
		return nil
	}
	return sampleMembers(b.Seed, members, max(1, ceil(float64(len(members))**d.RandomSubsample-noise)))
}

// compare orders mean rewards: the first to be learned first.
func (d documented) compare(a, b float64) int { return compare(d.Ascending, a, b) }

func compare(ascending bool, a, b float64) int {
	if ascending {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(b, a)
}

// restore reads what the epoch before left, if anything.
func restore(b curate.Batch, s *formats.CurriculumState) error {
	if b.State == nil {
		return nil
	}
	if err := json.Unmarshal(b.State, s); err != nil {
		return fmt.Errorf("the curriculum's state in --previous: %w", err)
	}
	return nil
}

// survivors refuses groups with a smaller spread and returns the others'
// indexes, in order.
func survivors(groups []curate.Group, verdicts []curate.Verdict, diff float64) []int {
	var order []int
	for i, g := range groups {
		switch {
		case g.Valid == 0:
			verdicts[i].Reason = formats.DropMinRewardDiff
		case g.Max-g.Min < diff:
			verdicts[i] = curate.Verdict{Reason: formats.DropMinRewardDiff, Detail: fmt.Sprintf("spread %.6g", g.Max-g.Min)}
		default:
			order = append(order, i)
		}
	}
	return order
}

// cut refuses all but the first n of order, at least one, and notes the
// numbers.
func cut(s *formats.CurriculumState, verdicts []curate.Verdict, order []int, n int) {
	n = min(max(1, n), len(order))
	for rank := n; rank < len(order); rank++ {
		verdicts[order[rank]] = curate.Verdict{
			Reason: formats.DropCurriculum,
			Detail: fmt.Sprintf("rank %d of %d, the first %d are in", rank+1, len(order), n),
		}
	}
	if s.TotalGroups == 0 {
		s.TotalGroups = len(order)
	}
	s.Surviving, s.Included = len(order), n
}

func ceil(x float64) int { return int(math.Ceil(x)) }
