package score

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/stages"
)

// The states that rows are counted by; every row is in exactly one.
const (
	countScored   = "scored"
	countUnscored = "unscored" // the trajectory did not fail, but its reward is null
	countFailed   = "failed"   // the trajectory failed or was skipped: nothing to score
)

// factAttempted is scored + unscored: the denominator of the gate.
const factAttempted = "attempted"

// tally counts rows for the shard's record. Facts besides reward_sum (over
// scored rows) are, for each reward, rewards.NAME.sum, rewards.NAME.scored and
// rewards.NAME.failed, the last without trajectories that failed;
// rewards.NAME.shaped, the rows to which it may have given shaped rewards; and,
// with --only, rewards.NAME.computed, the rows that were not carried over.
type tally struct {
	counts, failures map[string]int64
	facts            map[string]float64
	missing          map[string]*missing // fields that rewards read, by reward
	rewards          map[string]*rewardFacts
}

// rewardFacts are three facts of a reward.
type rewardFacts struct{ sum, scored, failed float64 }

// missing counts the rows without a field that a reward reads.
type missing struct {
	rows int64
	text string // of the first
}

func newTally() *tally {
	return &tally{
		rewards: map[string]*rewardFacts{},
		counts:  map[string]int64{countScored: 0, countUnscored: 0, countFailed: 0}, failures: map[string]int64{}, missing: map[string]*missing{},
		facts: map[string]float64{factAttempted: 0, "reward_sum": 0},
	}
}

// factMissing counts the rows without a field that a reward reads.
func factMissing(name string) string { return "rewards." + name + ".missing" }

func factSteps(name string) string { return "rewards." + name + ".shaped" }

func (t *tally) add(s *formats.Score, r *Row) {
	for _, name := range r.steps {
		t.facts[factSteps(name)]++
	}
	if r.before != nil {
		for _, name := range r.before.computed {
			t.facts["rewards."+name+".computed"]++
		}
	}
	if s.Failure != "" {
		t.failures[s.Failure]++
	}
	if s.Failure == formats.RewardTrajectory {
		t.counts[countFailed]++
		return
	}
	t.facts[factAttempted]++
	if s.Reward != nil {
		t.counts[countScored]++
		t.facts["reward_sum"] += *s.Reward
	} else {
		t.counts[countUnscored]++
	}
	for i := range s.Rewards {
		r := &s.Rewards[i]
		if r.Failure == formats.RewardMissing && r.Error != "" && r.Error != notComputed {
			t.facts[factMissing(r.Name)]++
			if t.missing[r.Name] == nil {
				t.missing[r.Name] = &missing{text: r.Error}
			}
			t.missing[r.Name].rows++
		}
		f := t.rewards[r.Name]
		if f == nil {
			f = &rewardFacts{}
			t.rewards[r.Name] = f
		}
		if r.Value == nil {
			f.failed++
			continue
		}
		f.sum += *r.Value
		f.scored++
	}
}

// check refuses a reward that reads a field that no row has: the reward is
// wrong, and nothing is kept. It is for a dataset that one process makes, since
// the rows of one shard of several may all be of one kind.
func (t *tally) check(specs []Spec) error {
	for _, s := range specs {
		if m := t.missing[s.Name]; m != nil && float64(m.rows) == t.facts[factAttempted] {
			return usage("name one that the rows have; an expression may say what a missing one is worth: example.x ?? 0", "reward %q: of all %d trajectories: %s", s.Name, m.rows, m.text)
		}
	}
	return nil
}

func (t *tally) outcome() dataset.Outcome {
	for name, f := range t.rewards {
		if f.failed > 0 {
			t.facts["rewards."+name+".failed"] = f.failed
		}
		if f.scored > 0 {
			t.facts["rewards."+name+".sum"], t.facts["rewards."+name+".scored"] = f.sum, f.scored
		}
	}
	return dataset.Outcome{Counts: t.counts, Failures: t.failures, Facts: t.facts}
}

// report describes the stage: this shard, or the dataset if it already existed.
func report(result dataset.Result, outcome dataset.Outcome) stages.Report {
	r := stages.Report{
		Stage: stage, URI: result.URI, Identity: result.Identity, UpToDate: result.UpToDate, Missing: result.Missing,
		Rows: result.Rows, Counts: outcome.Counts, Failures: outcome.Failures, Facts: outcome.Facts,
	}
	if d := result.Sealed; d != nil {
		r.Sealed, r.RowsDigest = true, d.RowsDigest.String()
		if result.UpToDate && d.Shards == 1 {
			r.Rows, r.Counts, r.Failures, r.Facts = d.Rows, d.Counts, d.Failures, d.Facts
		}
	}
	if r.Message = message(r); outcome.Facts["judge.calls"]+outcome.Facts["judge.known"] > 0 {
		f := outcome.Facts
		r.Message += fmt.Sprintf("; judges were asked %.0f times, %.0f answers were stored before, %.0f tokens", f["judge.calls"], f["judge.known"], f["judge.prompt_tokens"]+f["judge.completion_tokens"])
		if f["judge.cost"] > 0 {
			r.Message += fmt.Sprintf(" for %.4g", f["judge.cost"])
		}
	}
	return r
}

func message(r stages.Report) string {
	if r.Counts == nil {
		return ""
	}
	text := fmt.Sprintf("%d of %s scored", r.Counts[countScored], plural.Of(r.Rows, "trajectory"))
	var why []string
	for _, class := range slices.SortedFunc(maps.Keys(r.Failures), func(a, b string) int { return cmp.Compare(r.Failures[b], r.Failures[a]) }) {
		what := class
		if class == formats.RewardTrajectory {
			what = "failed before"
		}
		why = append(why, fmt.Sprintf("%d %s", r.Failures[class], what))
	}
	if len(why) > 0 {
		text += "; no reward: " + strings.Join(why, ", ")
	}
	return text
}
