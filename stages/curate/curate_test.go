package curate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
)

var story = []example{
	{"a", "1 f 0 0"},     // kept, but for the failure
	{"b", "0.5 0.5 u"},   // flat
	{"c", "0.7 f"},       // alone
	{"d", "f u"},         // nothing
	{"e", "0 2 u 1 f 1"}, // kept, but for two
}

func TestFlatGroupsAreDropped(t *testing.T) {
	in := groups(t, "groups", 0, story)
	r, d := run(t, options(in, in+"-curate"))
	want := "a0 kept, a1 failed, a2 kept, a3 kept, b0 flat, b1 flat, b2 unscored, c0 min_valid, c1 failed, d0 failed, d1 unscored, " +
		"e0 kept, e1 kept, e2 unscored, e3 kept, e4 failed, e5 kept"
	if got := decisions(t, d); got != want {
		t.Errorf("decisions:\n got %s\nwant %s", got, want)
	}
	if got := kept(t, d); got != "a0 a2 a3 e0 e1 e3 e5" {
		t.Errorf("rows %s", got)
	}
	if diff := cmp.Diff(map[string]int64{"failed": 4, "unscored": 3, "flat": 2, "min_valid": 1}, r.Drops); diff != "" {
		t.Error(diff)
	}
	if r.Message != "7 of 17 trajectories kept, in 2 of 5 groups; dropped: 4 failed, 3 unscored, 2 flat, 1 min_valid" {
		t.Errorf("message %q", r.Message)
	}
	facts := map[string]float64{"groups": 5, "groups_kept": 2, "scored": 10, "reward_sum": 6.7, "kept_reward_sum": 5, "kept_sampled_tokens": 21}
	for name, want := range facts {
		if got := d.Facts[name]; got < want-1e-9 || got > want+1e-9 {
			t.Errorf("fact %s is %v, want %v", name, got, want)
		}
	}
}

// What is kept is the base's row, with the member's rewards and advantage.
func TestRowsAreWholeAndCarryTheirAdvantage(t *testing.T) {
	in := groups(t, "groups", 2, story)
	_, d := run(t, options(in, in+"-curate"))
	for _, row := range readAll[formats.Trajectory](t, d, "") {
		base := trajectory(example{id: row.ExampleID}, 2, int(row.Generation))
		base.SetPayloadDigest()
		if row.PayloadDigest != base.PayloadDigest || row.Epoch != 2 || row.GroupID != row.ExampleID+"@2" || len(row.Rewards) != 1 {
			t.Errorf("row %+v", row)
		}
		mean := map[string]float64{"a": 1.0 / 3, "e": 1}[row.ExampleID]
		if row.Reward == nil || row.Advantage == nil || *row.Advantage != *row.Reward-mean {
			t.Errorf("%s%d: the advantage moved", row.ExampleID, row.Generation)
		}
	}
	if d.Base != nil || len(d.Inputs) != 2 {
		t.Errorf("base %v, inputs %v", d.Base, d.Inputs)
	}
}

func TestKeepFlatAndMinimum(t *testing.T) {
	in := groups(t, "groups", 0, story)
	for want, change := range map[string]func(*curate.Options){
		"a0 a2 a3 b0 b1 e0 e1 e3 e5":     func(o *curate.Options) { o.KeepFlat = true },
		"a0 a2 a3 b0 b1 c0 e0 e1 e3 e5":  func(o *curate.Options) { o.KeepFlat, o.MinValid = true, 1 },
		"e0 e1 e3 e5":                    func(o *curate.Options) { o.MinValid = 4 },
		"":                               func(o *curate.Options) { o.MinValid = 5 },
		"a0 a2 a3 b0 b1 c0 e0 e1 e3 e5 ": func(o *curate.Options) { o.Compat = curate.CompatNAT },
	} {
		o := options(in, fmt.Sprintf("%s-%d-%s", in, len(want), want[:min(1, len(want))]))
		change(&o)
		r, d := run(t, o)
		if got := kept(t, d); got != strings.TrimSpace(want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if n := int64(len(strings.Fields(want))); r.Rows != n || d.Rows != n || d.Tables[formats.TableDecisions].Rows != 17 {
			t.Errorf("%d rows and %d decisions", r.Rows, d.Tables[formats.TableDecisions].Rows)
		}
	}
}

func TestTolerance(t *testing.T) {
	in := groups(t, "groups", 0, []example{{"a", "0.5 0.501"}, {"b", "0.5 0.6"}})
	wide := 0.01
	o := options(in, in+"-curate")
	o.FlatTolerance = &wide
	if _, d := run(t, o); kept(t, d) != "b0 b1" {
		t.Errorf("kept %s", kept(t, d))
	}
}

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
			got, last := chain(t, 21, func(o *curate.Options) { o.Compat, o.Curriculum.Enabled = compat, true })
			if fmt.Sprint(got) != want {
				t.Errorf("kept groups %v, want %s", got, want)
			}
			var s formats.CurateState
			var c formats.CurriculumState
			check(t, json.Unmarshal(last.State, &s))
			check(t, json.Unmarshal(s.Rules[formats.RuleCurriculum], &c))
			if s.Epoch != 20 || s.Compat != string(compat) || c.Share != 1 || c.TotalGroups != 10 || c.Included != 10 {
				t.Errorf("state %+v, %+v", s, c)
			}
		})
	}
}

// Without --previous the documented share is that of a run from epoch 0;
// with the rule off for an epoch its state is handed on.
func TestStateIsHandedOn(t *testing.T) {
	got, _ := chain(t, 8, func(o *curate.Options) { o.Previous.URI, o.Curriculum.Enabled = "", true })
	if fmt.Sprint(got) != "[3 3 3 3 3 5 5 5]" {
		t.Errorf("without --previous: %v", got)
	}
	in := ladder(t, 20)
	o := options(in, in+"-a")
	o.Curriculum = curate.Curriculum{Enabled: true, Initial: 0.8, Interval: 100}
	run(t, o)
	next := ladder(t, 21)
	off := options(next, next+"-b")
	off.Previous.URI = o.Out.URI
	_, d := run(t, off)
	var s formats.CurateState
	check(t, json.Unmarshal(d.State, &s))
	if s.Epoch != 21 || !strings.Contains(string(s.Rules[formats.RuleCurriculum]), "0.8") {
		t.Errorf("state %s", d.State)
	}
}

func TestCurriculumReasons(t *testing.T) {
	in := groups(t, "groups", 0, []example{{"a", "0 1"}, {"b", "0.5 1.5 f"}, {"c", "0.5 0.55"}, {"d", "1 1"}, {"e", "3"}})
	o := options(in, in+"-curate")
	o.Curriculum.Enabled = true
	_, d := run(t, o)
	want := "a0 curriculum, a1 curriculum, b0 kept, b1 kept, b2 failed, c0 min_reward_diff, c1 min_reward_diff, d0 flat, d1 flat, e0 min_valid"
	if got := decisions(t, d); got != want {
		t.Errorf("decisions:\n got %s\nwant %s", got, want)
	}
	for _, r := range readAll[formats.Decision](t, d, formats.TableDecisions) {
		if !r.Kept && r.Reason != "failed" && r.Detail == "" {
			t.Errorf("%s%d: %s without a detail", r.ExampleID, r.Generation, r.Reason)
		}
	}
}

// A group that the subsample leaves flat or too small goes as a whole, and
// what is left of the others keeps its advantage.
func TestSubsampleAndRulesAgain(t *testing.T) {
	var part []example
	for i := range 40 {
		part = append(part, example{fmt.Sprint(i), "0 0 0 1"})
	}
	in := groups(t, "groups", 0, part)
	half := 0.5
	o := options(in, in+"-curate")
	o.Curriculum = curate.Curriculum{Enabled: true, Initial: 1, RandomSubsample: &half}
	r, d := run(t, o)
	if r.Drops["subsample"] != 80 {
		t.Errorf("drops %v", r.Drops)
	}
	if r.Drops["flat"] == 0 || r.Drops["flat"]+r.Rows != 80 || r.Rows == 0 {
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
	half := 0.5
	got, _ := chain(t, 1, func(o *curate.Options) {
		o.Compat, o.Curriculum = curate.CompatNAT, curate.Curriculum{Enabled: true, Initial: 1, RandomSubsample: &half}
	})
	if got[0] != 5 {
		t.Errorf("%d of 10 groups", got[0])
	}
	in := groups(t, "single", 0, []example{{"a", "1 1 1 1 f"}})
	o := options(in, in+"-curate")
	o.Compat, o.Curriculum = curate.CompatNAT, curate.Curriculum{Enabled: true, RandomSubsample: &half}
	if r, _ := run(t, o); r.Rows != 2 {
		t.Errorf("NAT keeps half of a single group, flat or not; here %d rows", r.Rows)
	}
}

func TestEmptyResultIsCommitted(t *testing.T) {
	for name, part := range map[string][]example{"all flat": {{"a", "1 1"}, {"b", "f f"}}, "no rows": nil} {
		in := groups(t, name, 0, part)
		r, d := run(t, options(in, in+"-curate"))
		if d.Rows != 0 || !r.Sealed || r.Rows != 0 || len(d.State) == 0 {
			t.Errorf("%s: %+v", name, r)
		}
		if rows := readAll[formats.Trajectory](t, d, ""); len(rows) != 0 {
			t.Errorf("%s: %d rows", name, len(rows))
		}
	}
}

func TestShardsGiveTheRowsOfOne(t *testing.T) {
	var parts [][]example
	for p := range 4 {
		var part []example
		for i := range 10 {
			part = append(part, example{fmt.Sprintf("p%d-%d", p, i), fmt.Sprintf("%d f %d 1 0 u", i%3, i%2)})
		}
		parts = append(parts, part)
	}
	in := groups(t, "groups", 3, parts...)
	half := 0.5
	o := options(in, in+"-one")
	o.Seed = 7
	o.Curriculum = curate.Curriculum{Enabled: true, RandomSubsample: &half}
	_, one := run(t, o)
	for _, n := range []int{2, 3, 4, 7} {
		o.Out.URI = fmt.Sprint(in, "-", n)
		var total stages.Report
		for i := range n {
			o.Out.Shard = stages.Shard{Index: n - 1 - i, Count: n}
			r, err := curate.Run(t.Context(), o)
			check(t, err)
			total.Add(r)
		}
		d := open(t, o.Out.URI)
		check(t, dataset.Verify(t.Context(), d))
		if d.RowsDigest != one.RowsDigest || d.Tables[formats.TableDecisions].RowsDigest != one.Tables[formats.TableDecisions].RowsDigest {
			t.Errorf("%d shards give other rows", n)
		}
		if diff := cmp.Diff(one.Drops, d.Drops) + cmp.Diff(one.Counts, total.Counts) + cmp.Diff(one.Facts, d.Facts); diff != "" {
			t.Errorf("%d shards: %s", n, diff)
		}
		if string(d.State) == "" || compact(d.State) != compact(one.State) {
			t.Errorf("%d shards: state %s", n, d.State)
		}
	}
}

func compact(j json.RawMessage) string { return strings.Join(strings.Fields(string(j)), "") }

func TestSecondRunDoesNothing(t *testing.T) {
	in := groups(t, "groups", 0, story)
	o := options(in, in+"-curate")
	first, _ := run(t, o)
	again, _ := run(t, o)
	if !again.UpToDate || again.RowsDigest != first.RowsDigest || again.Message != first.Message || again.Rows != first.Rows {
		t.Errorf("%+v", again)
	}
	o.Curriculum.Enabled = true
	var exists *dataset.ExistsError
	if _, err := curate.Run(t.Context(), o); !errors.As(err, &exists) {
		t.Errorf("other options at the same place: %v", err)
	}
}

func TestGateKeepsTheRows(t *testing.T) {
	in := groups(t, "groups", 0, story)
	three := 3.0
	o := options(in, in+"-curate")
	o.MinGroups = &three
	r, err := curate.Run(t.Context(), o)
	var gate *dataset.GateError
	if !errors.As(err, &gate) || r.Rows != 7 || !r.Sealed {
		t.Errorf("%v, %+v", err, r)
	}
}

func TestWrongInputs(t *testing.T) {
	in := groups(t, "groups", 3, story)
	o := options(in, in+"-curate")
	run(t, o)
	for want, change := range map[string]func(*curate.Options){
		"holds trajectories":   func(o *curate.Options) { o.In.URI = in + "-rollout" },
		"not curate":           func(o *curate.Options) { o.Previous.URI = in },
		"epoch 3, and this is": func(o *curate.Options) { o.Previous.URI = in + "-curate" },
		"no dataset":           func(o *curate.Options) { o.Previous.URI = in + "-nothing" },
	} {
		o := options(in, in+"-other")
		change(&o)
		var bad *formats.InputError
		if _, err := curate.Run(t.Context(), o); !errors.As(err, &bad) || bad.Hint() == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	next := groups(t, "next", 4, story)
	o = options(next, next+"-curate")
	o.Previous.URI = in + "-curate"
	run(t, o)
}

func TestGroupsThatLieApart(t *testing.T) {
	in := groups(t, "groups", 0, []example{{"a", "0 1"}, {"b", "0 1"}, {"a", "1 0"}})
	if _, err := curate.Run(t.Context(), options(in, in+"-curate")); !errors.Is(err, formats.ErrInvalid) || !strings.Contains(err.Error(), `"a@0"`) {
		t.Errorf("got %v", err)
	}
}

func TestOptionsAreCheckedFirst(t *testing.T) {
	bad, minus := 1.5, -1
	for want, change := range map[string]func(*curate.Options){
		"no input":               func(o *curate.Options) { o.In.URI = "" },
		"no output":              func(o *curate.Options) { o.Out.URI = "" },
		"--epoch -1":             func(o *curate.Options) { o.Epoch = &minus },
		"--min-valid":            func(o *curate.Options) { o.MinValid = -1 },
		"--flat-tolerance":       func(o *curate.Options) { o.FlatTolerance = &bad },
		`--compat "nats"`:        func(o *curate.Options) { o.Compat = "nats" },
		"under --compat nat":     func(o *curate.Options) { o.Compat, o.MinValid = curate.CompatNAT, 2 },
		"--curriculum-initial":   func(o *curate.Options) { o.Curriculum.Initial = 1.5 },
		"--curriculum-increment": func(o *curate.Options) { o.Curriculum.Increment = -0.1 },
		"--curriculum-interval":  func(o *curate.Options) { o.Curriculum.Interval = -5 },
		"--random-subsample":     func(o *curate.Options) { o.Curriculum.RandomSubsample = &bad },
	} {
		o := options("mem://nowhere/in", "mem://nowhere/out")
		change(&o)
		_, err := curate.Run(t.Context(), o)
		var usage *stages.Error
		if !errors.As(err, &usage) || usage.Kind != stages.KindUsage || usage.Hint() == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
