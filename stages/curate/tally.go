package curate

import (
	"fmt"
	"maps"
	"math"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/stages"
)

// The states that input rows are counted by; every row is in exactly one.
const (
	countKept    = "kept"
	countDropped = "dropped"
)

// Facts: sums over the input groups and the kept rows.
const (
	factGroups     = "groups"
	factGroupsKept = "groups_kept"
	factScored     = "scored" // members with a reward, before any rule
	factRewards    = "reward_sum"
	factRewardKept = "kept_reward_sum"
	factTokens     = "kept_sampled_tokens"
)

type tally struct {
	groups, groupsKept, scored, kept int64
	tokens                           int64
	rewards, keptRewards             float64
	drops                            map[string]int64
	funnel                           funnel
}

func (t *tally) add(d *decided) {
	members, kept := d.members, d.kept
	t.groups++
	stages.Count(&t.funnel.groups, d.ended, 1)
	for i, v := range d.verdicts {
		if v.Reason != "" {
			stages.Count(&t.drops, v.Reason, 1)
			stages.Count(&t.funnel.trajectories, v.rule, 1)
		}
		if v.Reason != decision.DropFailed && v.Reason != decision.DropUnscored {
			t.scored++
			t.rewards = plus(t.rewards, *members[i].Reward)
		}
	}
	if len(kept) > 0 {
		t.groupsKept++
	}
	t.kept += int64(len(kept))
	for i := range kept {
		t.tokens += int64(kept[i].SampledTokens)
		t.keptRewards = plus(t.keptRewards, *kept[i].Reward)
	}
}

// plus returns a finite sum: a manifest is JSON.
func plus(a, b float64) float64 {
	return max(-math.MaxFloat64, min(a+b, math.MaxFloat64))
}

func (t *tally) dropped() (n int64) {
	for _, d := range t.drops {
		n += d
	}
	return n
}

func (t *tally) check(rows int64) error {
	groups, trajectories := t.funnel.sum()
	if t.kept+t.dropped() != rows || trajectories != t.dropped() || groups != t.groups-t.groupsKept {
		return fmt.Errorf("curate: %d kept and %d dropped (%d by rules) of %d trajectories, %d groups kept and %d dropped "+
			"of %d do not add up",
			t.kept, t.dropped(), trajectories, rows, t.groupsKept, groups, t.groups)
	}
	return nil
}

func (t *tally) outcome() shards.Outcome {
	facts := map[string]float64{
		factGroups: float64(t.groups), factGroupsKept: float64(t.groupsKept), factScored: float64(t.scored),
		factRewards: t.rewards, factRewardKept: t.keptRewards, factTokens: float64(t.tokens),
	}
	t.funnel.facts(facts)
	return shards.Outcome{Counts: map[string]int64{countKept: t.kept, countDropped: t.dropped()}, Drops: t.drops,
		Facts: facts}
}

// report describes the shard, or the dataset if it already existed.
func report(result shards.Result, outcome shards.Outcome, order []string, seconds float64) stages.Report {
	r := stages.Report{
		Stage: stage, URI: result.URI, Identity: result.Identity, UpToDate: result.UpToDate, Missing: result.Missing,
		Rows: result.Rows, Counts: outcome.Counts, Drops: outcome.Drops, Facts: outcome.Facts, Seconds: seconds,
	}
	if d := result.Sealed; d != nil {
		r.Sealed, r.RowsDigest = true, d.RowsDigest.String()
		if result.UpToDate && d.Shards == 1 {
			r.Counts, r.Drops, r.Facts = d.Counts, d.Drops, d.Facts
		}
	}
	if r.Counts != nil {
		r.Funnel = decision.Funnel(order, int64(r.Facts[factGroups]), r.Counts[countKept]+r.Counts[countDropped], r.Facts)
		r.Message = message(r, r.Facts)
	}
	return r
}

func message(r stages.Report, f map[string]float64) string {
	kept, dropped := r.Counts[countKept], r.Counts[countDropped]
	text := fmt.Sprintf("%d of %s kept, in %.0f of %s", kept, plural.Of(kept+dropped, "trajectory"), f[factGroupsKept],
		plural.Of(f[factGroups], "group"))
	if why := reasons(r.Drops, r.Funnel); len(why) > 0 {
		text += "; dropped: " + strings.Join(why, ", ")
	}
	return text + sideMessage(f)
}

// reasons lists what was dropped by rule, as the funnel does, the most first. A
// rule whose reasons have names of their own is followed by them.
func reasons(drops map[string]int64, steps []decision.FunnelStep) (list []string) {
	own, byRule, mixed := maps.Clone(drops), map[string]int64{}, []string{}
	for _, s := range steps {
		reason := strings.ReplaceAll(s.Rule, "-", "_")
		if s.Trajectories > 0 {
			byRule[reason] = s.Trajectories
		}
		if s.Trajectories > own[reason] {
			mixed = append(mixed, reason)
		}
		delete(own, reason)
	}
	if len(own) > 0 && len(mixed) != 1 { // a manifest without these facts
		byRule, own = drops, nil
	}
	for _, name := range plural.Largest(byRule) {
		text := fmt.Sprintf("%d %s", byRule[name], name)
		if len(own) > 0 && name == mixed[0] {
			text += " (" + strings.Join(plural.Largest(own), ", ") + ")"
		}
		list = append(list, text)
	}
	return list
}

// funnel counts what each rule refused: groups (those of which it left nothing)
// and trajectories. It is part of the manifest's facts, which are summed over
// shards; decision.Funnel reads it there.
type funnel struct{ groups, trajectories map[string]int64 }

func (f *funnel) sum() (groups, trajectories int64) {
	for _, n := range f.groups {
		groups += n
	}
	for _, n := range f.trajectories {
		trajectories += n
	}
	return groups, trajectories
}

func (f *funnel) facts(into map[string]float64) {
	for rule, n := range f.groups {
		into[decision.OfGroups(rule)] = float64(n)
	}
	for rule, n := range f.trajectories {
		into[decision.OfTrajectories(rule)] = float64(n)
	}
}

// lost sums the facts with a prefix, and lists them, the largest first.
func lost(f map[string]float64, prefix string) (sum float64, text string) {
	drops := map[string]float64{}
	for name, n := range f {
		if reason, ok := strings.CutPrefix(name, prefix); ok {
			drops[reason], sum = n, sum+n
		}
	}
	var why []string
	for _, reason := range plural.Largest(drops) {
		why = append(why, fmt.Sprintf("%.0f %s", drops[reason], reason))
	}
	if why != nil {
		text = " (dropped: " + strings.Join(why, ", ") + ")"
	}
	return sum, text
}
