package curate_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/curate"
)

// Ten groups with means 0.0 to 0.9; the share grows over a chain of epochs.
func ladder(t testing.TB, epoch int) string {
	var part []example
	for i := range 10 {
		part = append(part, example{fmt.Sprint(i), fmt.Sprintf("%g %g f", float64(i)/10-0.25, float64(i)/10+0.25)})
	}
	return groups(t, fmt.Sprint("epoch-", epoch), epoch, part)
}

// chain curates epochs, each with the one before as --previous, and returns
// the number of kept groups of each.
func chain(t *testing.T, epochs int, change func(*curate.Options)) (kept []int, last *dataset.Dataset) {
	previous := ""
	for e := range epochs {
		in := ladder(t, e)
		o := options(in, in+"-curate")
		o.Previous.URI = previous
		change(&o)
		_, last = run(t, o)
		kept = append(kept, int(last.Facts["groups_kept"]))
		if last.Rows+sum(last.Drops) != 30 {
			t.Errorf("epoch %d: %d kept and %v", e, last.Rows, last.Drops)
		}
		previous = o.Out.URI
	}
	return kept, last
}

func sum(m map[string]int64) (n int64) {
	for _, v := range m {
		n += v
	}
	return n
}

func TestCurriculumOverTwentyEpochs(t *testing.T) {
	for compat, want := range map[curate.Compat]string{
		curate.CompatNone: "[3 3 3 3 3 5 5 5 5 5 7 7 7 7 7 9 9 9 9 9 10]",
		curate.CompatNAT:  "[3 3 3 3 5 5 5 5 5 7 7 7 7 7 9 9 9 9 9 10 10]",
	} {
		t.Run(string(compat), func(t *testing.T) {
			got, last := chain(t, 21, func(o *curate.Options) {
				o.Compat = compat
				ask(*o, "curriculum", true)
			})
			if fmt.Sprint(got) != want {
				t.Errorf("kept groups %v, want %s", got, want)
			}
			var s decision.CurateState
			var c decision.CurriculumState
			check(t, json.Unmarshal(last.State, &s))
			check(t, json.Unmarshal(s.Rules[decision.RuleCurriculum], &c))
			if s.Epoch != 20 || s.Compat != string(compat) || c.Share != 1 || c.TotalGroups != 10 || c.Included != 10 {
				t.Errorf("state %+v, %+v", s, c)
			}
		})
	}
}

// Without --previous the documented share is that of a run from epoch 0;
// with the rule off for an epoch its state is handed on.
func TestStateIsCarriedForward(t *testing.T) {
	got, _ := chain(t, 8, func(o *curate.Options) {
		o.Previous.URI = ""
		ask(*o, "curriculum", true)
	})
	if fmt.Sprint(got) != "[3 3 3 3 3 5 5 5]" {
		t.Errorf("without --previous: %v", got)
	}
	in := ladder(t, 20)
	o := options(in, in+"-a")
	ask(o, "curriculum", true, "curriculum-initial", 0.8, "curriculum-interval", 100)
	run(t, o)
	next := ladder(t, 21)
	off := options(next, next+"-b")
	off.Previous.URI = o.Out.URI
	_, d := run(t, off)
	var s decision.CurateState
	check(t, json.Unmarshal(d.State, &s))
	if s.Epoch != 21 || !strings.Contains(string(s.Rules[decision.RuleCurriculum]), "0.8") {
		t.Errorf("state %s", d.State)
	}
}

func TestCurriculumReasons(t *testing.T) {
	in := groups(t, "groups", 0, []example{{"a", "0 1"}, {"b", "0.5 1.5 f"}, {"c", "0.5 0.55"}, {"d", "1 1"}, {"e", "3"}})
	o := options(in, in+"-curate")
	ask(o, "curriculum", true)
	r, d := run(t, o)
	// The summary counts by rule, as the table of the funnel does.
	if !strings.HasSuffix(r.Message, "; dropped: 4 curriculum (min_reward_diff), 2 flat, 1 failed, 1 min_valid") {
		t.Errorf("message %q", r.Message)
	}
	want := "a0 curriculum, a1 curriculum, b0 kept, b1 kept, b2 failed, c0 min_reward_diff, c1 min_reward_diff, d0 flat, d1 flat, e0 min_valid"
	if got := decisions(t, d); got != want {
		t.Errorf("decisions:\n got %s\nwant %s", got, want)
	}
	for _, r := range readAll[decision.Decision](t, d, schema.TableDecisions) {
		if !r.Kept && r.Reason != "failed" && r.Detail == "" {
			t.Errorf("%s%d: %s without a detail", r.ExampleID, r.Generation, r.Reason)
		}
	}
}

// TestKeepingNothingIsAWarning: it is a valid result, and rarely meant.
func TestKeepingNothingIsAWarning(t *testing.T) {
	for word, warns := range map[string]bool{"0.5 0.5": true, "0 1": false} {
		in := groups(t, fmt.Sprint("groups-", warns), 0, []example{{"a", word}})
		o := options(in, in+"-curate")
		var log strings.Builder
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
		run(t, o)
		if strings.Contains(log.String(), "the rules kept nothing") != warns || warns && !strings.Contains(log.String(), "0 of 2 trajectories kept") {
			t.Errorf("%s: %s", word, log.String())
		}
	}
}

// What the subsample leaves of a group keeps its advantage, also where its rewards are equal.
func TestSubsampleAndRulesAgain(t *testing.T) {
	var part []example
	for i := range 40 {
		part = append(part, example{fmt.Sprint(i), "0 0 0 1"})
	}
	in := groups(t, "groups", 0, part)
	o := options(in, in+"-curate")
	ask(o, "curriculum", true, "curriculum-initial", 1, "random-subsample", 0.5)
	r, d := run(t, o)
	if r.Drops["subsample"] != 80 {
		t.Errorf("drops %v", r.Drops)
	}
	if r.Drops["flat"] != 0 || r.Rows != 80 {
		t.Errorf("%d rows, drops %v", r.Rows, r.Drops)
	}
	byGroup := map[string]int{}
	for _, row := range readAll[formats.Trajectory](t, d, "") {
		byGroup[row.GroupID]++
		if *row.Advantage != *row.Reward-0.25 {
			t.Errorf("an advantage moved to %v", *row.Advantage)
		}
	}
	for id, n := range byGroup {
		if n != 2 {
			t.Errorf("group %s has %d rows", id, n)
		}
	}
	o.Out.URI += "-other-seed"
	o.Seed = 1
	if _, other := run(t, o); kept(t, other) == kept(t, d) {
		t.Error("the seed changes nothing")
	}
}

func TestNATSubsamplesGroups(t *testing.T) {
	got, _ := chain(t, 1, func(o *curate.Options) {
		o.Compat = curate.CompatNAT
		ask(*o, "curriculum", true, "curriculum-initial", 1, "random-subsample", 0.5)
	})
	if got[0] != 5 {
		t.Errorf("%d of 10 groups", got[0])
	}
	in := groups(t, "single", 0, []example{{"a", "1 1 1 1 f"}})
	o := options(in, in+"-curate")
	o.Compat = curate.CompatNAT
	ask(o, "curriculum", true, "random-subsample", 0.5)
	if r, _ := run(t, o); r.Rows != 2 {
		t.Errorf("NAT keeps half of a single group, flat or not; here %d rows", r.Rows)
	}
}
