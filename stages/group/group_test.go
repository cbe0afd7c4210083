package group_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/pairs"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage/fault"
)

// An example's rewards, written short: f is failed, u unscored.
type example struct {
	id      string
	rewards string
}

var fiveExamples = []example{
	{"a", "1 f 0 0"},
	{"b", "0.5 0.5 0.5"},
	{"c", "0.7"},
	{"d", "f u"},
	{"e", "0 2 u 1 f"},
}

func wide(e example, epoch int) []formats.Trajectory {
	var rows []formats.Trajectory
	for g, word := range strings.Fields(e.rewards) {
		t := formats.Trajectory{
			TrajectoryID: formats.TrajectoryID("run", e.id, epoch, g), Run: "run", ExampleID: e.id, Epoch: int32(epoch), Generation: int32(g),
			Example: "{}", Status: outcomes.StatusOK, StopReason: outcomes.StopDone,
			SampledTokens: int32(10 + g),
			Messages:      []formats.Message{{Parent: -1, Role: "user", Content: "go", Call: -1}},
		}
		switch word {
		case "f":
			t.Status, t.StopReason, t.FailureClass = outcomes.StatusFailed, outcomes.StopError, outcomes.FailEngine
		case "u":
		default:
			r := 0.0
			if _, err := fmt.Sscan(word, &r); err != nil {
				panic(err)
			}
			t.Reward = &r
		}
		rows = append(rows, t)
	}
	return rows
}

// trajectories writes a wide dataset with rewards, in as many parts as shards.
func trajectories(t *testing.T, name string, parts [][]example) string {
	t.Helper()
	uri := "mem://" + strings.ReplaceAll(t.Name(), "/", "-") + "/" + name
	for i, part := range parts {
		s, err := shards.Begin(t.Context(), uri, manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories},
			shards.Options{Shard: i, Of: len(parts)})
		if err != nil {
			t.Fatal(err)
		}
		w := shards.NewTable[formats.Trajectory](s, "", -1)
		for _, e := range part {
			if err := w.Write(t.Context(), wide(e, 0)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Commit(t.Context(), shards.Outcome{}); err != nil {
			t.Fatal(err)
		}
	}
	return uri
}

func options(in, out string) group.Options {
	return group.Options{In: stages.Input{URI: in}, Out: stages.Output{URI: out}, Estimator: plugin.Pick(estimators.All, group.DefaultEstimator)}
}

func run(t *testing.T, o group.Options) (stages.Report, *dataset.Dataset) {
	t.Helper()
	r, err := group.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(t.Context(), o.Out.URI, dataset.OpenOptions{Kind: schema.KindGroups})
	if err != nil {
		t.Fatal(err)
	}
	return r, d
}

func readAll[T any](t *testing.T, d *dataset.Dataset, table string) []T {
	t.Helper()
	r := d.All()
	if table != "" {
		r.Rows = d.Tables[table].Rows
	}
	rows, err := dataset.ReadAll[T](t.Context(), d, table, r)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// words shows members as "id/generation advantage-or-why".
func words(members []formats.Member) string {
	var out []string
	for _, m := range members {
		text := m.NoAdvantage
		if m.Advantage != nil {
			text = fmt.Sprintf("%.3f", *m.Advantage)
		}
		out = append(out, fmt.Sprintf("%s%d %s", m.ExampleID, m.Generation, text))
	}
	return strings.Join(out, ", ")
}

func TestGroupsEndToEnd(t *testing.T) {
	in := trajectories(t, "rollout", [][]example{fiveExamples})
	r, d := run(t, options(in, in+"-group"))
	want := "a0 1.414, a1 failed, a2 -0.707, a3 -0.707, b0 0.000, b1 0.000, b2 0.000, c0 singleton, d0 failed, d1 unscored, " +
		"e0 -1.225, e1 1.225, e2 unscored, e3 0.000, e4 failed"
	if got := words(readAll[formats.Member](t, d, "")); got != want {
		t.Errorf("members:\n got %s\nwant %s", got, want)
	}
	if diff := cmp.Diff(map[string]int64{"advantage": 9, "singleton": 1, "unscored": 2, "failed": 3}, r.Counts); diff != "" {
		t.Error(diff)
	}
	if r.Message != "5 groups, 3 with advantages, 1 of them flat; mean reward 0.62" {
		t.Errorf("message %q", r.Message)
	}
	var lines []string
	for _, g := range readAll[formats.GroupStats](t, d, schema.TableGroups) {
		line := fmt.Sprint(g.GroupID, " ", g.FirstRow, " ", g.Valid, "/", g.Count)
		for _, f := range []*float64{g.Mean, g.StdPop, g.StdSample, g.Min, g.Max, g.Spread, g.Solved} {
			if f == nil {
				line += " -"
			} else {
				line += fmt.Sprintf(" %.3g", *f)
			}
		}
		lines = append(lines, line)
	}
	wantGroups := []string{
		"a@0 0 3/4 0.333 0.471 0.577 0 1 1 0.333",
		"b@0 4 3/3 0.5 0 0 0.5 0.5 0 0",
		"c@0 7 1/1 0.7 0 - 0.7 0.7 0 0",
		"d@0 8 0/2 - - - - - - -",
		"e@0 10 3/5 1 0.816 1 0 2 2 0.667",
	}
	if diff := cmp.Diff(wantGroups, lines); diff != "" {
		t.Error(diff)
	}
}

// Lengths and pass@k are of the valid members alone.
func TestSolvedAndLengths(t *testing.T) {
	in := trajectories(t, "rollout", [][]example{fiveExamples})
	_, d := run(t, options(in, in+"-group"))
	var lines []string
	for _, g := range readAll[formats.GroupStats](t, d, schema.TableGroups) {
		line := fmt.Sprintf("%s %d solved, %d failed, %d unscored, pass %.3g, %d tokens", g.ExampleID, g.SolvedCount, g.Failed, g.Unscored, g.PassAtK,
			g.SampledTokens)
		if g.LengthMean != nil {
			line += fmt.Sprintf(" %.4g %d-%d", *g.LengthMean, *g.LengthMin, *g.LengthMax)
		}
		lines = append(lines, line)
	}
	want := []string{
		"a 1 solved, 1 failed, 0 unscored, pass [0.333 0.667 1], 35 tokens 11.67 10-13",
		"b 0 solved, 0 failed, 0 unscored, pass [0 0 0], 33 tokens 11 10-12",
		"c 0 solved, 0 failed, 0 unscored, pass [0], 10 tokens 10 10-10",
		"d 0 solved, 1 failed, 1 unscored, pass [], 0 tokens",
		"e 2 solved, 1 failed, 1 unscored, pass [0.667 1 1], 34 tokens 11.33 10-13",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

// pass@k against exact fractions of binomial coefficients.
func TestPassAtK(t *testing.T) {
	for n := 1; n <= 40; n++ {
		for c := 0; c <= n; c++ {
			for k := 1; k <= n; k++ {
				q := new(big.Rat).SetFrac(new(big.Int).Binomial(int64(n-c), int64(k)), new(big.Int).Binomial(int64(n), int64(k)))
				if n-c < k {
					q = new(big.Rat)
				}
				want, _ := new(big.Rat).Sub(big.NewRat(1, 1), q).Float64()
				if got := formats.PassAtK(n, c, k); math.Abs(got-want) > 1e-12 {
					t.Fatalf("n %d, c %d, k %d: %v, want %v", n, c, k, got, want)
				}
			}
		}
	}
}

func TestSecondRunDoesNothing(t *testing.T) {
	in := trajectories(t, "rollout", [][]example{fiveExamples})
	o := options(in, in+"-group")
	first, _ := run(t, o)
	again, _ := run(t, o)
	if !again.UpToDate || again.RowsDigest != first.RowsDigest || again.Rows != 15 || again.Message != first.Message {
		t.Errorf("%+v", again)
	}
	o.Compat = group.CompatVerl
	var exists *manifest.ExistsError
	if _, err := group.Run(t.Context(), o); !errors.As(err, &exists) {
		t.Errorf("another compat at the same place: %v", err)
	}
}

// Scores beside a base give the rows that wide rewards give, and shards the
// rows of one.
func TestThinInputAndShards(t *testing.T) {
	base, scores := randomScores(t, randomtest.Options{Groups: 60, Generations: 5, Failures: 0.2, Unscored: 0.1, Messages: 3, SampledTokens: 5, PromptTokens: 5}, 3)
	_, d := run(t, options(scores, base+"-one"))
	if d.Rows != 300 || d.Base == nil {
		t.Fatalf("%d rows, base %v", d.Rows, d.Base)
	}
	var last stages.Report
	var rows int64
	o := options(scores, base+"-three")
	for i := range 3 {
		o.Out.Shard = stages.Shard{Index: i, Count: 3}
		r, err := group.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		last, rows = r, rows+r.Rows
	}
	if !last.Sealed || last.RowsDigest != d.RowsDigest.String() || rows != 300 {
		t.Errorf("three shards: %d rows, %+v; one: %v", rows, last, d.RowsDigest)
	}
	three, err := dataset.Open(t.Context(), o.Out.URI, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []*dataset.Dataset{d, three} {
		if err := dataset.Verify(t.Context(), x); err != nil {
			t.Error(err)
		}
	}
	if three.Tables[schema.TableGroups].RowsDigest != d.Tables[schema.TableGroups].RowsDigest {
		t.Error("three shards give other statistics")
	}
	for _, p := range three.Parts {
		if p.BaseFirst == nil || p.Rows > 0 && p.Rows == 300 {
			t.Errorf("part %+v does not cover a slice", p)
		}
	}
	want := readAll[formats.Trajectory](t, must(dataset.Open(t.Context(), base, dataset.OpenOptions{})), "")
	for i, m := range readAll[formats.Member](t, three, "") {
		if m.TrajectoryID != want[i].TrajectoryID {
			t.Fatalf("row %d is %s, the base's is %s", i, m.TrajectoryID, want[i].TrajectoryID)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// randomScores writes wide rows in so many parts, and scores beside them.
func randomScores(t testing.TB, ro randomtest.Options, parts int) (base, scores string) {
	t.Helper()
	ctx := context.Background()
	base = "mem://" + strings.ReplaceAll(t.Name(), "/", "-") + "/rollout"
	ro.Groups /= parts
	var all [][]formats.Score
	for i := range parts {
		s := must(shards.Begin(ctx, base, manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories}, shards.Options{Shard: i, Of: parts}))
		w := shards.NewTable[formats.Trajectory](s, "", -1)
		rename := func(id *string) { *id = fmt.Sprintf("%d-%s", i, *id) }
		for rows := range randomtest.Trajectories(int64(i), ro) {
			for k := range rows {
				rename(&rows[k].ExampleID)
			}
			if err := w.Write(ctx, rows); err != nil {
				t.Fatal(err)
			}
		}
		for rows := range randomtest.Scores(int64(i), ro) {
			for k := range rows {
				rename(&rows[k].ExampleID)
			}
			all = append(all, rows)
		}
		must(s.Commit(ctx, shards.Outcome{}))
	}
	scores = base + "-score"
	ref := must(dataset.Open(ctx, base, dataset.OpenOptions{})).Ref("base", scores)
	s := must(shards.Begin(ctx, scores, manifest.Spec{Stage: "score", Version: 1, Kind: schema.KindScores, Base: &ref, Inputs: []manifest.Ref{ref}},
		shards.Options{}))
	w := shards.NewTable[formats.Score](s, "", 0)
	for _, rows := range all {
		if err := w.Write(ctx, rows); err != nil {
			t.Fatal(err)
		}
	}
	must(s.Commit(ctx, shards.Outcome{}))
	return base, scores
}

func TestInvalidRewards(t *testing.T) {
	in := trajectories(t, "rollout", [][]example{{{"a", "1 0"}, {"b", "0 +Inf 1"}}})
	_, err := group.Run(t.Context(), options(in, in+"-group"))
	var bad *fault.Error
	if !errors.As(err, &bad) || bad.Row != 3 {
		t.Errorf("got %v", err)
	}
	if _, err := dataset.Open(t.Context(), in+"-group", dataset.OpenOptions{}); err == nil {
		t.Error("a dataset stands all the same")
	}
}

func TestGates(t *testing.T) {
	in := trajectories(t, "rollout", [][]example{fiveExamples})
	few, flat, ok := 4.0, 0.2, 3.0
	for name, o := range map[string]group.Options{"min-groups": {MinGroups: &few}, "max-flat-groups": {MaxFlatGroups: &flat}} {
		with := options(in, in+"-"+name)
		with.MinGroups, with.MaxFlatGroups = o.MinGroups, o.MaxFlatGroups
		r, err := group.Run(t.Context(), with)
		var gate *manifest.GateError
		if !errors.As(err, &gate) || gate.Gates[0].Name != name || r.Rows != 15 || !r.Sealed {
			t.Errorf("%s: %v, %+v", name, err, r)
		}
	}
	o := options(in, in+"-ok")
	o.MinGroups = &ok
	run(t, o)
}

func TestOptionsAreCheckedFirst(t *testing.T) {
	nan, negative := math.NaN(), -1.0
	for want, change := range map[string]func(*group.Options){
		"no input":             func(o *group.Options) { o.In.URI = "" },
		"no output":            func(o *group.Options) { o.Out.URI = "" },
		`estimator "grop"`:     func(o *group.Options) { o.Estimator.Name = "grop" },
		`--compat "arts"`:      func(o *group.Options) { o.Compat = "arts" },
		`--pairs "all"`:        func(o *group.Options) { o.Pairs.Mode = "all" },
		"--pairs is not set":   func(o *group.Options) { o.Pairs.Limit = 2 },
		"--pairs-from":         func(o *group.Options) { o.Pairs = pairs.Settings{Mode: pairs.Exhaustive, From: "x"} },
		"--pair-margin":        func(o *group.Options) { o.Pairs = pairs.Settings{Mode: pairs.Exhaustive, Margin: -1} },
		"--pair-top":           func(o *group.Options) { o.Pairs = pairs.Settings{Mode: pairs.Exhaustive, Top: 2} },
		"--compat nat makes":   func(o *group.Options) { o.Compat, o.Pairs.Mode = group.CompatNAT, pairs.TopK },
		"--solved-threshold":   func(o *group.Options) { o.SolvedThreshold = &nan },
		"--flat-tolerance":     func(o *group.Options) { o.FlatTolerance = &negative },
		"--max-flat-groups -1": func(o *group.Options) { o.MaxFlatGroups = &negative },
	} {
		o := options("mem://nowhere/in", "mem://nowhere/out")
		change(&o)
		_, err := group.Run(t.Context(), o)
		var usage *fault.Error
		if !errors.As(err, &usage) || usage.Kind != fault.Usage || fault.HintOf(usage) == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestWrongInput(t *testing.T) {
	in := trajectories(t, "rollout", [][]example{fiveExamples})
	run(t, options(in, in+"-group"))
	if _, err := group.Run(t.Context(), options(in+"-group", in+"-again")); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("groups of groups: %v", err)
	}
	if _, err := group.Run(t.Context(), options(in+"-nothing", in+"-again")); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("no dataset: %v", err)
	}
}

func TestNothingToGroup(t *testing.T) {
	in := trajectories(t, "rollout", [][]example{nil})
	r, d := run(t, options(in, in+"-group"))
	if d.Rows != 0 || !r.Sealed || len(readAll[formats.GroupStats](t, d, schema.TableGroups)) != 0 {
		t.Errorf("%+v", r)
	}
}

// TestFlatIsWhatTheAdvantagesAre, up to rounding: where passk gives all 0, nothing trains
// although the rewards differ. With preferences it is what the rewards are.
func TestFlatIsWhatTheAdvantagesAre(t *testing.T) {
	in := trajectories(t, "rollout",
		[][]example{{{"equal", "0.5 0.5 f"}, {"rounded", "0.3 0.30000000000000004"}, {"near", "0.5 0.5000000001"}, {"solved", "1 2 2"}, {"single", "1 u"}}})
	for estimator, want := range map[string]float64{group.DefaultEstimator: 2, "passk": 3, "labels": 2} {
		o := options(in, in+"/../"+estimator)
		if o.Labels = estimator == "labels"; o.Labels {
			estimator = "passk"
		}
		o.Estimator = plugin.Pick(estimators.All, estimator)
		r, d := run(t, o)
		if r.Facts["groups_flat"] != want || d.Facts["groups_flat"] != want {
			t.Errorf("%s: %v flat groups, want %v", estimator, d.Facts["groups_flat"], want)
		}
	}
}
