package curriculum

import (
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
)

// nat does what the NeMo Agent Toolkit's ARTTrainer.apply_curriculum_learning
// does, quirk by quirk; the package comment says where that differs from its
// documentation. Two things are not its own. Its random.sample is unseeded:
// we draw as many, by the seed. And its state lives as long as its process,
// so one process's epochs are our chain of --previous; no --previous is a
// process that began with this epoch.
type nat struct{ curate.Curriculum }

func (n nat) Groups(b curate.Batch, groups []curate.Group) (curate.Ruling, error) {
	s := formats.CurriculumState{Share: n.Initial, LastExpansion: -1}
	if err := restore(b, &s); err != nil {
		return curate.Ruling{}, err
	}
	s.Surviving, s.Included = 0, 0
	if b.Total == 1 {
		s.Surviving, s.Included = len(groups), len(groups)
		return curate.Ruling{State: s}, nil
	}
	verdicts := make([]curate.Verdict, len(groups))
	order := survivors(groups, verdicts, *n.MinRewardDiff)
	if len(order) == 0 {
		return curate.Ruling{Verdicts: verdicts, State: s}, nil
	}
	slices.SortStableFunc(order, func(i, j int) int { return compare(n.Ascending, groups[i].Mean, groups[j].Mean) })
	if b.Epoch-s.LastExpansion >= n.Interval && s.Share < 1 {
		s.Share, s.LastExpansion = math.Min(1, s.Share+n.Increment), b.Epoch
	}
	cut(&s, verdicts, order, ceil(float64(len(order))*s.Share))
	n.sampleGroups(b, groups, verdicts, order[:s.Included], len(order))
	return curate.Ruling{Verdicts: verdicts, State: s}, nil
}

// sampleGroups keeps at most a share of the survivors among the chosen.
func (n nat) sampleGroups(b curate.Batch, groups []curate.Group, verdicts []curate.Verdict, chosen []int, survivors int) {
	if n.RandomSubsample == nil {
		return
	}
	keep := ceil(float64(survivors) * *n.RandomSubsample)
	out := leaveOut(len(chosen), keep, func(i int) int64 { return formats.Seed(b.Seed, "subsample", groups[chosen[i]].ID) })
	for _, i := range out {
		verdicts[chosen[i]].Reason = formats.DropSubsample
	}
}

// Members samples the trajectories of a group that is alone in its epoch.
func (n nat) Members(b curate.Batch, members []formats.Member) []curate.Verdict {
	if n.RandomSubsample == nil || b.Total != 1 {
		return nil
	}
	return sampleMembers(b.Seed, members, ceil(float64(len(members))**n.RandomSubsample))
}
