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
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/storage/fault"
)

var fiveExamples = []example{
	{"a", "1 f 0 0"},     // kept, but for the failure
	{"b", "0.5 0.5 u"},   // flat
	{"c", "0.7 f"},       // alone
	{"d", "f u"},         // nothing
	{"e", "0 2 u 1 f 1"}, // kept, but for two
}

func TestFlatGroupsAreDropped(t *testing.T) {
	in := groups(t, "groups", 0, fiveExamples)
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
	in := groups(t, "groups", 2, fiveExamples)
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
	in := groups(t, "groups", 0, fiveExamples)
	for want, change := range map[string]func(*curate.Options){
		"a0 a2 a3 b0 b1 e0 e1 e3 e5":     func(o *curate.Options) { ask(*o, "keep-flat", true) },
		"a0 a2 a3 b0 b1 c0 e0 e1 e3 e5":  func(o *curate.Options) { ask(*o, "keep-flat", true); o.MinValid = 1 },
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
		if n := int64(len(strings.Fields(want))); r.Rows != n || d.Rows != n || d.Tables[schema.TableDecisions].Rows != 17 {
			t.Errorf("%d rows and %d decisions", r.Rows, d.Tables[schema.TableDecisions].Rows)
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
	o := options(in, in+"-one")
	o.Seed = 7
	ask(o, "curriculum", true, "random-subsample", 0.5)
	_, one := run(t, o)
	for _, n := range []int{2, 3, 4, 7} {
		o.Out.URI = fmt.Sprint(in, "-", n)
		for i := range n {
			o.Out.Shard = stages.Shard{Index: n - 1 - i, Count: n}
			_, err := curate.Run(t.Context(), o)
			check(t, err)
		}
		d := open(t, o.Out.URI)
		check(t, dataset.Verify(t.Context(), d))
		if d.RowsDigest != one.RowsDigest || d.Tables[schema.TableDecisions].RowsDigest != one.Tables[schema.TableDecisions].RowsDigest {
			t.Errorf("%d shards give other rows", n)
		}
		if diff := cmp.Diff(one.Drops, d.Drops) + cmp.Diff(one.Counts, d.Counts) + cmp.Diff(one.Facts, d.Facts); diff != "" {
			t.Errorf("%d shards: %s", n, diff)
		}
		if string(d.State) == "" || compact(d.State) != compact(one.State) {
			t.Errorf("%d shards: state %s", n, d.State)
		}
	}
}

func compact(j json.RawMessage) string { return strings.Join(strings.Fields(string(j)), "") }

func TestSecondRunDoesNothing(t *testing.T) {
	in := groups(t, "groups", 0, fiveExamples)
	o := options(in, in+"-curate")
	first, _ := run(t, o)
	again, _ := run(t, o)
	if !again.UpToDate || again.RowsDigest != first.RowsDigest || again.Message != first.Message || again.Rows != first.Rows {
		t.Errorf("%+v", again)
	}
	ask(o, "curriculum", true)
	var exists *manifest.ExistsError
	if _, err := curate.Run(t.Context(), o); !errors.As(err, &exists) {
		t.Errorf("other options at the same place: %v", err)
	}
}

func TestGateKeepsTheRows(t *testing.T) {
	in := groups(t, "groups", 0, fiveExamples)
	three := 3.0
	o := options(in, in+"-curate")
	o.MinGroups = &three
	r, err := curate.Run(t.Context(), o)
	var gate *manifest.GateError
	if !errors.As(err, &gate) || r.Rows != 7 || !r.Sealed {
		t.Errorf("%v, %+v", err, r)
	}
}

func TestWrongInputs(t *testing.T) {
	in := groups(t, "groups", 3, fiveExamples)
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
		var bad *fault.Error
		if _, err := curate.Run(t.Context(), o); !errors.As(err, &bad) || fault.HintOf(bad) == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	next := groups(t, "next", 4, fiveExamples)
	o = options(next, next+"-curate")
	o.Previous.URI = in + "-curate"
	run(t, o)
}

func TestScatteredGroups(t *testing.T) {
	in := groups(t, "groups", 0, []example{{"a", "0 1"}, {"b", "0 1"}, {"a", "1 0"}})
	if _, err := curate.Run(t.Context(), options(in, in+"-curate")); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), `"a@0"`) {
		t.Errorf("got %v", err)
	}
}

func TestOptionsAreCheckedFirst(t *testing.T) {
	bad := 1.5
	for want, change := range map[string]func(*curate.Options){
		"no input":               func(o *curate.Options) { o.In.URI = "" },
		"no output":              func(o *curate.Options) { o.Out.URI = "" },
		"--flat-tolerance":       func(o *curate.Options) { o.FlatTolerance = &bad },
		`--compat "nats"`:        func(o *curate.Options) { o.Compat = "nats" },
		"under --compat nat":     func(o *curate.Options) { o.Compat, o.MinValid = curate.CompatNAT, 2 },
		"--curriculum-initial":   func(o *curate.Options) { ask(*o, "curriculum-initial", 1.5) },
		"--curriculum-increment": func(o *curate.Options) { ask(*o, "curriculum-increment", -0.1) },
		"--curriculum-interval":  func(o *curate.Options) { ask(*o, "curriculum-interval", -5) },
		"--random-subsample":     func(o *curate.Options) { ask(*o, "random-subsample", 1.5) },
	} {
		o := options("mem://nowhere/in", "mem://nowhere/out")
		change(&o)
		_, err := curate.Run(t.Context(), o)
		var usage *fault.Error
		if !errors.As(err, &usage) || usage.Kind != fault.Usage || fault.HintOf(usage) == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
