package score

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage/fault"
)

// The states that rows are counted by; every row is in exactly one.
const (
	countScored   = "scored"
	countUnscored = "unscored" // the trajectory did not fail, but its reward is null
	countFailed   = "failed"   // the trajectory failed or was skipped: nothing to score
)

// factAttempted is scored + unscored: the denominator of the gate.
const factAttempted = "attempted"

// tally counts rows for the shard's record. Facts besides reward_sum (over scored rows) are, for
// each reward, rewards.NAME.sum, rewards.NAME.scored and rewards.NAME.failed, the last without
// trajectories that failed; rewards.NAME.shaped, the rows to which it may have given shaped
// rewards; and, with --only, rewards.NAME.computed, the rows that were not carried over.
type tally struct {
	scored, unscored, failed int64
	sum                      float64 // of rewards
	failures                 map[string]int64
	facts                    map[string]float64       // of jobs
	missing                  map[string]string        // the first error of a field that rewards read, by reward
	faults                   map[string]*failedReward // of programs, by reward
	rewards                  []*rewardFacts           // in the order of a row's
}

// rewardFacts are three facts of a reward.
type rewardFacts struct {
	name                string
	sum, scored, failed float64
}

// failedReward counts the rows in which a reward failed by itself.
type failedReward struct {
	rows  int64
	first formats.NamedReward
}

func newTally() *tally {
	return &tally{failures: map[string]int64{}, facts: map[string]float64{}, missing: map[string]string{},
		faults: map[string]*failedReward{}}
}

// factMissing counts the rows without a field that a reward reads.
func factMissing(name string) string { return "rewards." + name + ".missing" }

func factSteps(name string) string { return "rewards." + name + ".shaped" }

func factComputed(name string) string { return "rewards." + name + ".computed" }

// add counts a row. Rows come in their order, so that sums are always the same. A sum
// that overflows is an error: it is in no manifest.
func (t *tally) add(s *formats.Score) error {
	if s.Failure != "" {
		t.failures[s.Failure]++
	}
	if s.Failure == outcomes.RewardTrajectory {
		t.failed++
		return nil
	}
	if s.Reward != nil {
		t.scored++
		if t.sum += *s.Reward; math.IsInf(t.sum, 0) {
			return overflow(s, "reward", *s.Reward)
		}
	} else {
		t.unscored++
	}
	for i := range s.Rewards {
		r := &s.Rewards[i]
		if r.Failure == outcomes.RewardMissing && r.Error != "" && r.Error != notComputed {
			t.facts[factMissing(r.Name)]++
			t.missing[r.Name] = cmp.Or(t.missing[r.Name], r.Error)
		}
		if r.Failure == outcomes.RewardError || slices.Contains(programFaults, r.Failure) {
			if t.faults[r.Name] == nil {
				t.faults[r.Name] = &failedReward{first: *r}
			}
			t.faults[r.Name].rows++
		}
		f := t.of(i, r.Name)
		if r.Value == nil {
			f.failed++
			continue
		}
		if f.sum += *r.Value; math.IsInf(f.sum, 0) {
			return overflow(s, r.Name, *r.Value)
		}
		f.scored++
	}
	return nil
}

func overflow(s *formats.Score, name string, value float64) error {
	return fault.Errorf(fault.Failed, "scale the reward, or clip it in its program; as an expression: max(-1e6, min(1e6, x))",
		"score: the sum of %q overflows at trajectory %q, whose value is %g", name, s.TrajectoryID, value)
}

// of returns the facts of a reward, which most rows have at the same index.
func (t *tally) of(i int, name string) *rewardFacts {
	if i < len(t.rewards) && t.rewards[i].name == name {
		return t.rewards[i]
	}
	if i := slices.IndexFunc(t.rewards, func(f *rewardFacts) bool { return f.name == name }); i >= 0 {
		return t.rewards[i]
	}
	t.rewards = append(t.rewards, &rewardFacts{name: name})
	return t.rewards[len(t.rewards)-1]
}

func (t *tally) attempted() int64 { return t.scored + t.unscored }

// check refuses a reward that reads a field that no row has, and a program that
// gives no row a value, if the gate would refuse the dataset anyway: the reward is
// wrong, and nothing is kept. It is for a dataset that one process makes, since
// the rows of one shard of several may all be of one kind.
func (t *tally) check(o Options, rewards rewardSet) error {
	for _, c := range rewards {
		if f := t.faults[c.Name]; c.Words != nil && !o.KeepBroken && f != nil && f.rows == t.attempted() && t.scored == 0 &&
			*o.MaxFailureRate < 1 {
			return broken(fmt.Sprintf("all %d", f.rows), &f.first)
		}
	}
	for _, s := range o.Rewards {
		if text := t.missing[s.Name]; text != "" && t.facts[factMissing(s.Name)] == float64(t.attempted()) {
			hint := "see `rollmill help reward " + s.Kind + "`"
			if strings.Contains(text, " has no field ") {
				hint = "name one that the rows have: field=NAME of the reward, or rollout --answer-key NAME; in an expression, " +
					"example.x ?? 0 says what a missing one is worth"
			}
			return usage(hint, "reward %q: of all %d trajectories: %s", s.Name, t.attempted(), text)
		}
	}
	return nil
}

func (t *tally) outcome() shards.Outcome {
	t.facts[factAttempted], t.facts["reward_sum"] = float64(t.attempted()), t.sum
	for _, f := range t.rewards {
		if f.failed > 0 {
			t.facts["rewards."+f.name+".failed"] = f.failed
		}
		if f.scored > 0 {
			t.facts["rewards."+f.name+".sum"], t.facts["rewards."+f.name+".scored"] = f.sum, f.scored
		}
	}
	counts := map[string]int64{countScored: t.scored, countUnscored: t.unscored, countFailed: t.failed}
	return shards.Outcome{Counts: counts, Failures: t.failures, Facts: t.facts}
}

// report describes the stage: this shard, or the dataset if it already existed.
func report(result shards.Result, outcome shards.Outcome) stages.Report {
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
		r.Message += fmt.Sprintf("; judges were asked %.0f times, %.0f answers were stored before, %.0f tokens",
			f["judge.calls"], f["judge.known"], f["judge.prompt_tokens"]+f["judge.completion_tokens"])
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
	if len(r.Failures) > 0 {
		text += "; no reward: " + plural.Counts(r.Failures, func(class string, n int64) string {
			if class == outcomes.RewardTrajectory {
				class = "failed before"
			}
			return fmt.Sprint(n, " ", class)
		})
	}
	return text
}
