package group_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/combin"
	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/ranks"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
)

// comparing are options to compare estimators.
func comparing(in string, names ...string) group.Options {
	o := options(in, "")
	o.Estimator.More = names
	return o
}

func compared(t TB, o group.Options, s group.Simulation) *group.Comparison {
	t.Helper()
	c, err := group.Compare(t.Context(), o, s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// alike compares comparisons up to rounding.
func alike(a, b any) string {
	return cmp.Diff(a, b, cmp.Comparer(func(a, b group.Figure) bool {
		return a != a && b != b || math.Abs(float64(a-b)) <= 1e-9*max(1, math.Abs(float64(a)))
	}), cmpopts.IgnoreUnexported(group.Comparison{}, group.Estimated{}))
}

// masses are classes in the order of Class.Solved.
func masses(groups [6]int64, mass ...group.Figure) (out []group.Class) {
	for i, name := range []string{"0", "(0, .25]", "(.25, .5]", "(.5, .75]", "(.75, 1)", "1"} {
		out = append(out, group.Class{Solved: name, Groups: groups[i], Mass: mass[i]})
	}
	return out
}

// TestCompare compares with figures computed by hand. Of fiveExamples, a has the tokens 10
// f 12 13, and e 10 11 u 13 f; drgrpo is 2/3 -1/3 -1/3 in a and -1 1 0 in e, so their masses
// are 15 and 21. passk has the best alone.
func TestCompare(t *testing.T) {
	in := trajectories(t, "rollout", [][]example{fiveExamples})
	c := compared(t, comparing(in, "drgrpo", "passk", "reinforce++"), group.Simulation{})
	a, e := 10/(math.Sqrt(1./3)+1e-6), 11/(1+1e-6)
	groups := [6]int64{2, 0, 1, 1, 0, 0}
	want := &group.Comparison{In: in, Rows: 15, Groups: 5, Unit: "member", Estimators: []*group.Estimated{
		{Name: "drgrpo", Null: 6, Groups: 3, Flat: 1, TopTenth: 21. / 36, Classes: masses(groups, 0, 0, 15./36, 21./36, 0, 0)},
		{Name: "passk", Null: 6, Groups: 3, Flat: 1, TopTenth: group.Figure(a / (a + e)),
			Classes: masses(groups, 0, 0, group.Figure(a/(a+e)), group.Figure(e/(a+e)), 0, 0)},
		// the rewards themselves: 10, 16.5, 7 and 35 of 68.5
		{Name: "reinforce++", Null: 5, Groups: 4, TopTenth: 35 / 68.5,
			Classes: masses(groups, 23.5/68.5, 0, 10/68.5, 35/68.5, 0, 0)},
	}, Pairs: []group.Agreement{
		// ranks 8 2.5 2.5 5.5 5.5 5.5 1 9 5.5 and 9 4 4 4 4 4 4 8 4
		{A: "drgrpo", B: "passk", Compared: 9, SignDiffers: 3. / 9, Spearman: group.Figure(31 / math.Sqrt(54.5*32)), FlatA: 1. / 3, FlatB: 1. / 3},
		// ranks 8 2.5 2.5 5.5 5.5 5.5 1 9 5.5 and 7.5 2 2 5 5 5 2 9 7.5
		{A: "drgrpo", B: "reinforce++", Compared: 9, SignDiffers: 7. / 9, Spearman: group.Figure(51.75 / math.Sqrt(54.5*55.5)), FlatA: 1. / 3},
		{A: "passk", B: "reinforce++", Compared: 9, SignDiffers: 4. / 9, Spearman: group.Figure(28.5 / math.Sqrt(32*55.5)), FlatA: 1. / 3},
	}}
	if d := alike(want, c); d != "" {
		t.Error(d)
	}
	var ten []example // of which the heaviest tenth is one
	for i := range 10 {
		ten = append(ten, example{fmt.Sprint("e", i), "1 0"})
	}
	if e := compared(t, comparing(trajectories(t, "ten", [][]example{ten}), "rloo"), group.Simulation{}).Estimators[0]; e.TopTenth != .1 {
		t.Error(e.TopTenth)
	}
	// what rounding leaves of 0.2 less the mean of 0.1 0.2 0.3 is 0, as passk has it
	rounded := compared(t, comparing(trajectories(t, "rounded", [][]example{{{"a", "0.1 0.2 0.3"}}}), "drgrpo", "passk"), group.Simulation{})
	if p := rounded.Pairs[0]; p.SignDiffers != 1./3 {
		t.Errorf("%+v", p)
	}
	nothing := compared(t, comparing(trajectories(t, "nothing", [][]example{{{"d", "f u"}, {"s", "1"}}}), "grpo", "rloo"), group.Simulation{N: 2, Repeats: 3})
	text, err := json.Marshal(nothing)
	if err != nil || !strings.Contains(string(text), `"compared":0,"sign_differs":null,"spearman":null,"flat_a":null`) || nothing.Simulation.Small != 1 {
		t.Errorf("%v: %s", err, text)
	}
	var out bytes.Buffer
	if err := nothing.WriteText(&out); err != nil || !strings.Contains(out.String(), "grpo, rloo  0        null          null") {
		t.Errorf("%v: %s", err, &out)
	}
}

// steppedPair is two attempts of two messages each, with the tokens 10 30 and 20 20.
func steppedPair() (rows []formats.Trajectory) {
	for g, shaped := range [][]float64{{1, 0}, {0, 0}} {
		r := shaped[0] + shaped[1]
		t := formats.Trajectory{TrajectoryID: fmt.Sprint("t", g), ExampleID: "a", Generation: int32(g), Status: formats.StatusOK, Reward: &r,
			ShapedRewards: shaped, SampledTokens: 40}
		for k, tokens := range [][]int32{{10, 30}, {20, 20}}[g] {
			t.Calls = append(t.Calls, formats.Call{Target: true, CompletionTokens: tokens, Tools: -1})
			t.Messages = append(t.Messages, formats.Message{Parent: int32(2*k - 1), Role: "user", Content: "go", Call: -1},
				formats.Message{Parent: int32(2 * k), Role: "assistant", Content: "on", Sampled: true, Call: int32(k)})
		}
		rows = append(rows, t)
	}
	return rows
}

// TestCompareSteps: with an estimator of messages, signs and ranks count tokens. The
// returns are 1 0 and 0 0, so turns without the outcome has u 0 and -u 0, with u of almost 1.
func TestCompareSteps(t *testing.T) {
	o := comparing(stored(t, "import", steppedPair(), 1), "grpo", "turns")
	for _, s := range []struct {
		outcome, differs, spearman, ofTurns float64
	}{
		// centred ranks by token -20 -20 20 20, and -30 5 5 35 for 20 20 30 10 of them
		{0, 50. / 80, 20000 / math.Sqrt(32000*31500), 30},
		// -30 -10 15 35
		{1, 0, 32000 / math.Sqrt(32000*39000), 110},
	} {
		_, settings, _ := estimatorOf(&o, "turns")
		settings.(*estimators.TurnsSettings).Outcome = s.outcome
		c := compared(t, o, group.Simulation{N: 2, Repeats: 2})
		want := group.Agreement{A: "grpo", B: "turns", Compared: 80, SignDiffers: group.Figure(s.differs), Spearman: group.Figure(s.spearman)}
		if d := alike(want, c.Pairs[0]); d != "" || c.Unit != "token" {
			t.Errorf("by %s: %s", c.Unit, d)
		}
		mean := group.Agreement{Compared: 80, Spearman: 1}
		if d := alike(&mean, c.Estimators[1].Cut); d != "" {
			t.Error(d)
		}
	}
	// a second group, of one message of 15 tokens each, and 25 outside of the main path
	rows := steppedPair()
	for _, r := range rows {
		r.TrajectoryID, r.ExampleID, r.ShapedRewards = r.TrajectoryID+"b", "b", nil
		r.Messages, r.Calls = r.Messages[:2], []formats.Call{{Target: true, CompletionTokens: 15, Tools: -1}}
		rows = append(rows, r)
	}
	o.In = stages.Input{URI: stored(t, "import", rows, 1)}
	// turns has 2u in their messages and u elsewhere: 2u (2·15 + 25) beside the u 110 of a
	if c := compared(t, o, group.Simulation{}); math.Abs(float64(c.Estimators[1].TopTenth)-.5) > 1e-9 || c.Estimators[0].TopTenth != .5 {
		t.Errorf("%v %v", c.Estimators[0].TopTenth, c.Estimators[1].TopTenth)
	}
	for i := range rows { // the engine gave no token ids: there is nothing to train
		rows[i].SampledTokens = 0
	}
	o.In.URI = stored(t, "import", rows, 1)
	if c := compared(t, o, group.Simulation{}); c.Estimators[1].TopTenth == c.Estimators[1].TopTenth || c.Pairs[0].Compared == 0 {
		t.Errorf("%v, %+v", c.Estimators[1].TopTenth, c.Pairs)
	}
}

// estimatorOf returns an estimator with its settings.
func estimatorOf(o *group.Options, name string) (group.EstimatorKind, group.EstimatorSettings, error) {
	of := o.Estimator
	of.Name = name
	return of.Get()
}

// TestCompareInAnyOrder: no figure depends on the order of rows, on parts, or on memory.
func TestCompareInAnyOrder(t *testing.T) {
	dir := t.TempDir()
	names := slices.DeleteFunc(slices.Clone(estimators.All.Names()), func(name string) bool {
		return name == "distill" || name == "rae" // which need scores, and rows in order
	})
	rapid.Check(t, func(t *rapid.T) {
		rows := drawn(t)
		s := group.Simulation{N: rapid.IntRange(0, 4).Draw(t, "n"), Repeats: 3, Seed: rapid.Int64().Draw(t, "seed")}
		o := comparing(stored(t, "import", rows, 1), names...)
		o.AllowUnscored = true
		want := compared(t, o, s)
		rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 1)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		o.In.URI = stored(t, "import", rows, rapid.IntRange(1, 4).Draw(t, "parts"))
		o.Spill = stages.Spill{Dir: dir, Memory: int64(rapid.SampledFrom([]int{64, 1 << 20}).Draw(t, "memory"))}
		got := compared(t, o, s)
		if got.In = want.In; got.Rows != int64(len(rows)) {
			t.Fatalf("%d rows of %d", got.Rows, len(rows))
		}
		if d := alike(want, got); d != "" {
			t.Fatal(d)
		}
	})
}

// TestCompareAsGrouped: estimators are compared by the advantages that group writes.
func TestCompareAsGrouped(t *testing.T) {
	rows, _ := stepped()
	in := stored(t, "import", rows, 2)
	names := []string{"turns", "grpo", "opo", "gigpo"}
	c := compared(t, comparing(in, names...), group.Simulation{})
	for i, name := range names {
		o := options(in, in+"-"+name)
		o.Estimator.Name = name
		d, _ := grouped(t, o, 1)
		unsolved := map[string]bool{}
		for _, g := range rowsOf[formats.GroupStats](t, d, formats.TableGroups) {
			unsolved[g.GroupID] = g.SolvedCount == 0
		}
		var all, ofUnsolved float64
		null := int64(0)
		for k, m := range rowsOf[formats.Member](t, d, "") {
			row, rest := rows[k], rows[k].SampledTokens
			if row.Advantage, row.Advantages = m.Advantage, m.Advantages; m.Advantage == nil {
				null++
				continue
			}
			mass := 0.0
			for _, at := range row.Main() {
				mass += math.Abs(*row.AdvantageOf(at)) * float64(len(row.Messages[at].TokenIDs))
				rest -= int32(len(row.Messages[at].TokenIDs))
			}
			mass += math.Abs(*m.Advantage) * float64(rest)
			if all += mass; unsolved[m.GroupID] {
				ofUnsolved += mass
			}
		}
		if e := c.Estimators[i]; e.Null != null || ofUnsolved == 0 || math.Abs(float64(e.Classes[0].Mass)-ofUnsolved/all) > 1e-9 {
			t.Errorf("%s: %+v, want %d null and %v", name, *e, null, ofUnsolved/all)
		}
	}
}

// cuts returns the agreements of an estimator in whole groups and all ways to cut them.
func cuts(t *testing.T, name string, groups []example, n int) (all []group.Agreement) {
	o := options("", "")
	_, settings, _ := estimatorOf(&o, name)
	e, err := settings.Estimator(group.Setup{Compat: group.CompatNone, Solved: 1})
	if err != nil {
		t.Fatal(err)
	}
	fill := func(members []formats.Member, lengths []group.Length) (out []float64, has, flat bool) {
		_, err := (&group.Grouper{Estimator: e, Tolerance: formats.FlatTolerance}).Fill(members, lengths)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range members {
			if out = append(out, math.NaN()); m.Advantage != nil {
				out[len(out)-1], has = *m.Advantage, true
			}
		}
		return out, has, has && !slices.ContainsFunc(out, func(a float64) bool { return math.Abs(a) > 1e-9 })
	}
	type one struct {
		x, y           []float64 // before and after
		has, flat      bool
		whole, wasFlat bool
	}
	ways := make([][]one, len(groups))
	for g, of := range groups {
		var members []formats.Member
		var lengths []group.Length
		for _, row := range wide(of, 0) {
			members = append(members, formats.Member{Status: row.Status, Reward: row.Reward})
			lengths = append(lengths, group.Length{SampledTokens: row.SampledTokens})
		}
		before, whole, wasFlat := fill(members, lengths)
		for _, at := range combin.Combinations(len(members), n) {
			var rest []formats.Member
			var tokens []group.Length
			way := one{whole: whole, wasFlat: wasFlat}
			for _, i := range at {
				rest, tokens, way.x = append(rest, members[i]), append(tokens, lengths[i]), append(way.x, before[i])
			}
			way.y, way.has, way.flat = fill(rest, tokens)
			ways[g] = append(ways[g], way)
		}
	}
	sizes := make([]int, len(ways))
	for g := range ways {
		sizes[g] = len(ways[g])
	}
	for _, choice := range combin.Cartesian(sizes) {
		var x, y, ones []float64
		var a group.Agreement
		var wholes, has group.Figure
		for g, k := range choice {
			way := ways[g][k]
			for i, v := range way.x {
				if w := way.y[i]; v == v && w == w {
					if x, y, ones = append(x, v), append(y, w), append(ones, 1); (v > 0) != (w > 0) || (v < 0) != (w < 0) {
						a.SignDiffers++
					}
				}
			}
			add := func(to *group.Figure, when bool) {
				if when {
					*to++
				}
			}
			add(&wholes, way.whole)
			add(&a.FlatA, way.wasFlat)
			add(&has, way.has)
			add(&a.FlatB, way.flat)
		}
		a.Compared = group.Figure(len(x))
		a.SignDiffers, a.FlatA, a.FlatB, a.Spearman = a.SignDiffers/a.Compared, a.FlatA/wholes, a.FlatB/has, group.Figure(ranks.Spearman(x, y, ones))
		all = append(all, a)
	}
	return all
}

// TestSimulation: the means over draws are those over all ways to cut the
// groups. Failed and unscored members are drawn too, and a group that is too small is not.
func TestSimulation(t *testing.T) {
	groups := []example{{"a", "1 0 0 0.5 1"}, {"b", "1 f 0 u 1"}, {"c", "0.25 0.25 0.25 1"}, {"flat", "1 1 1"}}
	in := trajectories(t, "rollout", [][]example{append([]example{{"small", "1 0"}}, groups...)})
	const repeats = 4000
	for _, name := range []string{"grpo", "opo", "passk", "reinforce++"} {
		c := compared(t, comparing(in, name), group.Simulation{N: 3, Repeats: repeats, Seed: 7})
		if c.Simulation.Small != 1 || c.Estimators[0].Groups != 5 {
			t.Errorf("%s: %d of %d are too small", name, c.Simulation.Small, c.Estimators[0].Groups)
		}
		all := cuts(t, name, groups, 3)
		got := *c.Estimators[0].Cut
		for figure, of := range map[string]func(group.Agreement) group.Figure{
			"compared": func(a group.Agreement) group.Figure { return a.Compared }, "signs": func(a group.Agreement) group.Figure { return a.SignDiffers },
			"spearman": func(a group.Agreement) group.Figure { return a.Spearman }, "flat before": func(a group.Agreement) group.Figure { return a.FlatA },
			"flat": func(a group.Agreement) group.Figure { return a.FlatB },
		} {
			var values []float64
			for _, a := range all {
				if v := float64(of(a)); v == v {
					values = append(values, v)
				}
			}
			mean, std := stat.MeanStdDev(values, nil)
			err := stat.StdErr(std, repeats*float64(len(values))/float64(len(all))) // of those that have one
			if math.Abs(float64(of(got))-mean) > 4*err+1e-9 {
				t.Errorf("%s: %s is %v, want %v ± %v", name, figure, of(got), mean, err)
			}
		}
	}
	whole := compared(t, comparing(in, "grpo"), group.Simulation{N: 2, Repeats: 1}).Estimators[0].Cut
	if again := compared(t, comparing(in, "grpo"), group.Simulation{N: 2, Repeats: 1}).Estimators[0].Cut; alike(whole, again) != "" {
		t.Errorf("one draw of a seed is %+v, and again %+v", whole, again)
	}
	if other := compared(t, comparing(in, "grpo"), group.Simulation{N: 2, Repeats: 1, Seed: 1}).Estimators[0].Cut; alike(whole, other) == "" {
		t.Error("another seed draws the same")
	}
}

// TestCompareRefuses what is wrong, with the row or a hint.
func TestCompareRefuses(t *testing.T) {
	in := trajectories(t, "rollout", [][]example{fiveExamples})
	bad := trajectories(t, "bad", [][]example{{{"a", "1 NaN"}}})
	for name, c := range map[string]struct {
		o    group.Options
		s    group.Simulation
		says string
	}{
		"a name":     {comparing(in, "grpo", "rlo"), group.Simulation{}, `there is no estimator "rlo": did you mean "rloo"?`},
		"no compat":  {func() group.Options { o := comparing(in, "grpo", "passk"); o.Compat = group.CompatTRL; return o }(), group.Simulation{}, `passk has no --compat "trl"`},
		"negative":   {comparing(in, "grpo"), group.Simulation{N: -1, Repeats: 1}, "--simulate-n -1"},
		"no repeats": {comparing(in, "grpo"), group.Simulation{N: 1}, "--simulate-repeats 0"},
		"a reward":   {comparing(bad, "rloo", "grpo"), group.Simulation{}, "row 1: trajectory"},
		"row to row": {comparing(in, "grpo", "rae"), group.Simulation{}, "--compare rae: its advantages depend on the rows before"},
		"no input":   {comparing("", "grpo"), group.Simulation{}, "no input"},
	} {
		_, err := group.Compare(t.Context(), c.o, c.s)
		var hinted interface{ Hint() string }
		if errors.As(err, &hinted) {
			err = fmt.Errorf("%w: %s", err, hinted.Hint())
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// BenchmarkCompare compares three estimators on thin rows on disk, and BenchmarkSimulate
// also in groups of 4 of 8, 20 times: go test -bench 'Compare|Simulate' ./stages/group
func BenchmarkCompare(b *testing.B)  { benchmarkCompare(b, group.Simulation{}) }
func BenchmarkSimulate(b *testing.B) { benchmarkCompare(b, group.Simulation{N: 4, Repeats: 20}) }

func benchmarkCompare(b *testing.B, s group.Simulation) {
	const rows = 100_000
	in := thin(b, filepath.Join(b.TempDir(), "scores"), rows, false)
	b.ReportAllocs()
	for b.Loop() {
		compared(b, comparing(in, "grpo", "rloo", "maxrl"), s)
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
