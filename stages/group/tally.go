package group

import (
	"fmt"
	"maps"
	"math"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/group/pairs"
)

// The states that rows are counted by; every row is in exactly one.
const (
	countAdvantage = "advantage" // it has one
	countSingleton = "singleton" // scored, and alone in its group
	countUnscored  = "unscored"
	countFailed    = "failed"
)

// Facts: sums over groups and scored members. Those of pairs and labels are in pair_facts.go.
const (
	factGroups    = "groups"
	factCompared  = "groups_with_advantages"
	factFlat      = "groups_flat" // of those with advantages: nothing of them trains (training.AdvantageSize)
	factScored    = "scored"
	factSolved    = "solved"
	factRewardSum = "reward_sum"
)

// tally counts rows and groups for the shard's record.
type tally struct {
	advantage, singleton, unscored, failed int64
	groups, compared, flat, scored, solved int64             // flat counts those of equal rewards
	sizes                                  map[float64]int64 // groups with advantages, by size; nil with pairs or labels, which go by rewards
	centred                                bool              // the batch's mean is subtracted later
	largest, sum                           float64
	rewards                                float64
	pairs                                  map[string]float64 // facts of pairs and labels; nil without --pairs and --labels
}

func (t *tally) add(members []formats.Member, stats *formats.GroupStats, g *Grouper) {
	for i := range members {
		t.member(&members[i], g.Solved)
	}
	if !stats.Forks {
		t.group(g.compared(members, stats))
	}
}

func (t *tally) member(m *formats.Member, solved float64) {
	switch m.NoAdvantage {
	case training.NoAdvantageFailed:
		t.failed++
		return
	case training.NoAdvantageUnscored:
		t.unscored++
		return
	case training.NoAdvantageSingleton:
		t.singleton++
	default:
		t.advantage++
	}
	if m.ForkCall != nil {
		return
	}
	t.scored++
	t.rewards = Finite(t.rewards + *m.Reward)
	if *m.Reward >= solved {
		t.solved++
	}
}

// newTally returns one of advantages, or with pairs and labels one that goes by rewards.
func newTally(byRewards bool, step *training.BatchStep) *tally {
	t := &tally{centred: step != nil && step.Center}
	if !byRewards {
		t.sizes = map[float64]int64{}
	}
	return t
}

func (t *tally) group(size training.AdvantageSize, compared, flat bool) {
	t.groups++
	if !compared {
		return
	}
	t.compared++
	if flat {
		t.flat++
	}
	if t.sizes != nil {
		largest := size.After(0, 1)
		t.largest, t.sum = max(t.largest, largest), t.sum+size.Sum
		if size.Loss {
			largest = math.Inf(1)
		}
		// rounded up by less than 1 in 2^8, so that there are few
		t.sizes[math.Float64frombits((math.Float64bits(largest)+(1<<44-1))>>44<<44)]++
	}
}

// flatGroups returns how many groups train nothing. Without a number for the whole batch it is
// that of the shard. A mean that is subtracted trains them.
func (t *tally) flatGroups() (n int64) {
	if t.sizes == nil {
		return t.flat
	}
	limit := t.largest * training.AdvantageTolerance
	if shift := t.sum / float64(max(1, t.advantage)); t.centred && math.Abs(shift) > limit {
		return 0
	}
	for size, groups := range t.sizes {
		if size <= limit {
			n += groups
		}
	}
	return n
}

func (t *tally) outcome(seconds float64) shards.Outcome {
	o := shards.Outcome{
		Counts: map[string]int64{countAdvantage: t.advantage, countSingleton: t.singleton, countUnscored: t.unscored,
			countFailed: t.failed},
		Facts: map[string]float64{
			factGroups: float64(t.groups), factCompared: float64(t.compared), factFlat: float64(t.flatGroups()),
			factScored: float64(t.scored), factSolved: float64(t.solved), factRewardSum: t.rewards,
		},
		Timings: map[string]float64{"group_seconds": seconds},
	}
	maps.Copy(o.Facts, t.pairs)
	return o
}

// report describes the shard, or the dataset if it already existed.
func report(result shards.Result, outcome shards.Outcome, seconds float64) stages.Report {
	r := stages.Report{
		Stage: stage, URI: result.URI, Identity: result.Identity, UpToDate: result.UpToDate, Missing: result.Missing,
		Rows: result.Rows, Facts: outcome.Facts, Seconds: seconds,
	}
	if !result.UpToDate {
		r.Counts = outcome.Counts
	}
	if d := result.Sealed; d != nil {
		r.Sealed, r.RowsDigest = true, d.RowsDigest.String()
		if result.UpToDate && d.Shards == 1 {
			r.Counts, r.Facts = d.Counts, d.Facts
		}
	}
	if r.Counts != nil {
		r.Message = message(r.Facts)
	}
	return r
}

// singletonsOnly reports whether no group has two scored members, and none of them has
// an advantage other than 0.
func singletonsOnly(f map[string]float64) bool {
	return f[factScored] > 0 && f[factScored] <= f[factGroups] && f[factCompared] == f[factFlat]
}

func message(f map[string]float64) string {
	text := fmt.Sprintf("%s, %.0f with advantages, %.0f of them flat", plural.Of(f[factGroups], "group"), f[factCompared],
		f[factFlat])
	if singletonsOnly(f) {
		text += "; every group has one scored member, so there is nothing to compare and nothing to train on: attempt each " +
			"example several times (rollout --generations 8 is usual, 2 is the least)"
	}
	if n := f[factScored]; n > 0 {
		text += fmt.Sprintf("; mean reward %.4g", f[factRewardSum]/n)
	}
	return text + pairs.Message(f)
}
