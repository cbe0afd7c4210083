package curate_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/storage/fault"
)

// taskFile is a task file in memory.
type taskFile []formats.Example

func (f taskFile) Len() int                          { return len(f) }
func (f taskFile) At(i int) (formats.Example, error) { return f[i], nil }

// tasks are examples e0, e1, ... of a source each: "math code math".
func tasks(sources string) (f taskFile) {
	for i, source := range strings.Fields(sources) {
		fields, _ := json.Marshal(map[string]any{"n": i, "source": source, "meta": map[string]any{"level": i % 3}})
		f = append(f, formats.Example{ID: fmt.Sprint("e", i), Fields: fields})
	}
	return f
}

// drawing are options that draw from a task file.
func drawing(t testing.TB, in string, f taskFile, budget int64, mix, rate string) curate.Options {
	t.Helper()
	o := options(in, in+"-curate")
	o.Examples, o.ExamplesRef = f, manifest.Ref{Role: "examples", URI: "tasks.jsonl", Digest: "d1"}
	o.PlanTable = curate.PlanTable{Generations: 2, Budget: &budget}
	check(t, o.PlanTable.Mix.Parse([]string{mix}))
	check(t, o.PlanTable.PassRate.Parse([]string{rate}))
	return o
}

func plannedRows(t testing.TB, d *dataset.Dataset) []decision.Planned {
	return readAll[decision.Planned](t, d, schema.TablePlan)
}

// Shares are met by largest remainder; a key with too few examples gives what it has.
func TestDrawnShares(t *testing.T) {
	in := groups(t, "groups", 1, []example{{"e0", "1 0 f"}, {"old", "1 0"}})
	sources := strings.Repeat("math code game ", 20) + "rare rare"
	for k, c := range []struct {
		mix   string
		field string
		n     int64
		want  map[string]int
		warns string
	}{
		{mix: "math=.4,code=.6", n: 20, want: map[string]int{"math": 4, "code": 6}},
		{mix: "math=1,code=1,game=1", n: 20, want: map[string]int{"math": 3, "code": 4, "game": 3}},
		{mix: "math=.5,rare=.5", n: 21, want: map[string]int{"math": 8, "rare": 2}, warns: `2 of the 5 examples of "rare"`},
		{mix: "rare=.1,none=.9", n: 20, want: map[string]int{"rare": 2}, warns: `0 of the 9 examples of "none"`},
		{mix: "math=1", n: 1000, want: map[string]int{"math": 20}, warns: `20 of the 500 examples of "math"`},
		{mix: "1=.75,2=.25", field: "meta.level", n: 8, want: map[string]int{"1": 3, "2": 1}},
		{mix: "math=1", n: 1, want: map[string]int{}},
	} {
		var log bytes.Buffer
		f := tasks(sources)
		o := drawing(t, in, f, c.n, c.mix, "")
		o.PlanTable.MixField = c.field
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
		o.Out.URI += fmt.Sprint(k)
		_, d := run(t, o)
		check(t, dataset.Verify(t.Context(), d))
		got := map[string]int{}
		rows := plannedRows(t, d)
		for _, r := range rows {
			i := slices.IndexFunc(f, func(e formats.Example) bool { return e.ID == r.ExampleID })
			key := strings.Fields(sources)[i]
			if c.field != "" {
				key = fmt.Sprint(i % 3)
			}
			got[key]++
			if r.Generations != 2 || r.Reason != decision.PlanDrawn || r.Epoch != 1 || r.GroupID != r.ExampleID+"@1" ||
				r.ExampleID != "e0" && (r.First != 0 || r.Count != 0 || r.Solved != nil) {
				t.Errorf("%s: %+v", c.mix, r)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) || !slices.IsSortedFunc(rows, func(a, b decision.Planned) int { return strings.Compare(a.ExampleID, b.ExampleID) }) {
			t.Errorf("%s of %d: drew %v, want %v", c.mix, c.n, got, c.want)
		}
		if text := strings.ReplaceAll(log.String(), `\"`, `"`); !strings.Contains(text, c.warns) || c.warns == "" && text != "" {
			t.Errorf("%s: log %s", c.mix, text)
		}
		if last := d.Inputs[len(d.Inputs)-1]; last.Role != "examples" || last.Digest != "d1" {
			t.Errorf("inputs %+v", d.Inputs)
		}
	}
}

// The row of an example that was attempted in this epoch.
func TestDrawnRow(t *testing.T) {
	in := groups(t, "groups", 1, []example{{"e0", "1 0 f s"}, {"e1", "1 1"}, {"e1/x", "1 0"}})
	_, d := run(t, drawing(t, in, tasks("a a"), 100, "", "uniform(0,1)"))
	rows := plannedRows(t, d)
	if r := rows[0]; r.First != 4 || r.Count != 4 || r.Valid != 2 || r.Failed != 2 || *r.Solved != 0.5 || *r.StdPop != 0.5 {
		t.Errorf("%+v", r)
	}
	if r := rows[1]; r.First != 22 || r.Count != 2 || *r.Solved != 1 {
		t.Errorf("%+v of an example with forks", r)
	}
}

// Pass rates of the newest policy version decide; new examples are tried.
func TestDrawnByPassRate(t *testing.T) {
	var part []example
	for i := range 200 {
		part = append(part, example{fmt.Sprint("e", i), strings.TrimSpace(strings.Repeat("1 ", i%11) + strings.Repeat("0 ", 10-i%11))})
	}
	f := tasks(strings.Repeat("a ", 210)) // ten of them new
	in := groups(t, "groups", 0, part)
	for rate, allowed := range map[string]func(rate float64, known bool) bool{
		"normal(.5,.05)":  func(r float64, known bool) bool { return !known || math.Abs(r-0.5) < 0.15 },
		"uniform(.8, 1)":  func(r float64, known bool) bool { return !known || r > 0.79 },
		"beta(40,40)":     func(r float64, known bool) bool { return !known || math.Abs(r-0.5) < 0.25 },
		"uniform(.55,.6)": func(r float64, known bool) bool { return !known || r == 0.6 },
	} {
		o := drawing(t, in, f, 2*26, "", rate)
		o.Out.URI += rate
		_, d := run(t, o)
		fresh := 0
		for _, r := range plannedRows(t, d) {
			if r.Solved == nil {
				fresh++
			} else if !allowed(*r.Solved, true) {
				t.Errorf("%s: drew %s of pass rate %v", rate, r.ExampleID, *r.Solved)
			}
		}
		if fresh == 0 {
			t.Errorf("%s: %d new examples", rate, fresh)
		}
	}
	// Nothing else is left.
	o := drawing(t, in, f, 2*205, "", "uniform(.5,.5)")
	o.Out.URI += "-most"
	if _, d := run(t, o); d.Tables[schema.TablePlan].Rows != 205 {
		t.Errorf("%d are drawn", d.Tables[schema.TablePlan].Rows)
	}
	// A later policy solves what an earlier one did not: the version in --previous is old.
	o = drawing(t, in, f, 2, "", "uniform(0.9,1)")
	o.Out.URI += "-previous"
	run(t, o)
	y := recipe{epoch: 1, version: 2, change: func(row *formats.Trajectory) {
		row.PolicyVersion, row.Calls[0].PolicyVersion = new(int64(3)), new(int64(3))
	}}
	next := y.write(t, "next", []example{{"e0", "1 1"}, {"e10", "0 0"}, {"e21", "f u"}})
	p := drawing(t, next, f[:22], 2*3, "", "uniform(0.9,1)")
	p.Previous.URI = o.Out.URI
	_, d := run(t, p)
	if got := planned(t, d); got != "e0 +2 from 2 drawn, e21 +2 from 2 drawn" && !strings.HasPrefix(got, "e0 +2 from 2 drawn, e2") {
		t.Errorf("by the newest version: %s", got) // e10 was solved by no version since
	}
}

// What is drawn does not depend on the order of rows, on memory or on shards.
func TestDrawnSetIsStable(t *testing.T) {
	n := 0
	some(t, 15, func(rt *rapid.T) {
		n++
		part := drawPart(rt, "part")
		f := tasks(strings.Repeat("a b c ", 6))
		o := drawing(t, groups(t, fmt.Sprint(n), 0, part), f, rapid.Int64Range(0, 30).Draw(rt, "budget"), "a=.5,b=.3", "normal(0.4,0.3)")
		o.Seed = rapid.Int64().Draw(rt, "seed")
		_, d := run(t, o)
		want := planned(t, d)
		slices.Reverse(part)
		p := o
		f = slices.Clone(f)
		slices.Reverse(f)
		p.Examples, p.Spill.Memory = f, 1
		p.In.URI = groups(t, fmt.Sprint(n, "-moved"), 0, part)
		p.Out.URI = p.In.URI + "-curate"
		for i := range 3 {
			p.Out.Shard = stages.Shard{Index: i, Count: 3}
			_, err := curate.Run(t.Context(), p)
			check(t, err)
		}
		if got := planned(t, open(t, p.Out.URI)); got != want {
			rt.Fatalf("drew %s, then %s", want, got)
		}
	})
}

// Each epoch draws others.
func TestDrawnSetOfEachEpoch(t *testing.T) {
	f := tasks(strings.Repeat("a ", 100))
	drawn := map[string]bool{}
	for epoch := range 3 {
		in := groups(t, fmt.Sprint(epoch), epoch, []example{{"e0", "1 0"}})
		_, d := run(t, drawing(t, in, f, 2*20, "a=1", ""))
		for _, r := range plannedRows(t, d) {
			drawn[r.ExampleID] = true
		}
	}
	if len(drawn) < 35 {
		t.Errorf("three draws of 20 from 100 give %d examples", len(drawn))
	}
}

// Held-out examples and the other sides of a split are not drawn.
func TestDrawnLeavesOut(t *testing.T) {
	in := groups(t, "groups", 1, []example{{"e0", "1 0"}})
	held := groups(t, "held", 0, []example{{"e3", "1"}, {"e5", "0"}})
	o := drawing(t, in, tasks(strings.Repeat("a ", 40)), 1000, "a=1", "")
	ask(o, "holdout", held+"-rollout", "split", "x=0.5,y=0.5", "take", "x")
	_, d := run(t, o)
	p := o
	p.Rules = options("", "").Rules
	p.Out.URI += "-y"
	ask(p, "holdout", held+"-rollout", "split", "x=0.5,y=0.5", "take", "y")
	_, other := run(t, p)
	ids := map[string]int{}
	for _, r := range append(plannedRows(t, d), plannedRows(t, other)...) {
		ids[r.ExampleID]++
	}
	if len(ids) != 38 || ids["e3"]+ids["e5"] > 0 || d.Tables[schema.TablePlan].Rows == 38 {
		t.Errorf("drew %v", ids)
	}
}

// What cannot be drawn, and how it is said.
func TestDrawnErrors(t *testing.T) {
	for _, text := range []string{"math", "math=", "=1", "math=x", "math=-0.4", "math=0", "math=NaN", "math=Inf", "a=1,a=2", "a=1,", "a=1,,b=2"} {
		var m curate.Mix
		if err := m.Parse([]string{text}); err == nil || !strings.Contains(err.Error(), "--plan-mix") {
			t.Errorf("%q: %v, %v", text, m, err)
		}
	}
	for _, text := range []string{"normal", "normal(1)", "normal(.5,.2", "normal(.5,.2,3)", "gauss(.5,.2)", "normal(.5,0)", "normal(2,1)", "normal(x,1)",
		"normal(.5,NaN)", "normal(NaN,1)", "uniform(.6,.5)", "uniform(-1,1)", "beta(.5,.5)", "beta(1,Inf)", "normal(.5,.2)x"} {
		var d curate.PassRate
		if err := d.Parse([]string{text}); err == nil || !strings.Contains(err.Error(), "--plan-pass-rate") {
			t.Errorf("%q: %+v, %v", text, d, err)
		}
	}
	in := groups(t, "groups", 0, []example{{"e0", "1 0"}})
	for want, change := range map[string]func(*curate.Options){
		"--plan-budget":                func(o *curate.Options) { o.PlanTable.Budget = nil },
		"without --plan-forks":         func(o *curate.Options) { o.PlanTable.Forks = curate.ForkEven },
		"and --plan-max-per-example":   func(o *curate.Options) { o.PlanTable.MaxPerExample = 3 },
		"--plan-examples":              func(o *curate.Options) { o.Examples = nil },
		"--plan-mix or":                func(o *curate.Options) { o.PlanTable.Mix = nil },
		`--plan-mix-field "where"`:     func(o *curate.Options) { o.PlanTable.MixField = "where" },
		`--plan-mix-field "source.of"`: func(o *curate.Options) { o.PlanTable.MixField = "source.of" },
		"--plan-mix-field of without":  func(o *curate.Options) { o.PlanTable.Mix, o.PlanTable.MixField = nil, "of" },
		`--plan-mix-field "meta.of"`:   func(o *curate.Options) { o.PlanTable.MixField = "meta.of" },
	} {
		o := drawing(t, in, tasks("a b"), 4, "a=1", "")
		change(&o)
		_, err := curate.Run(t.Context(), o)
		var usage *fault.Error
		if !errors.As(err, &usage) || usage.Kind != fault.Usage || !strings.Contains(err.Error()+fault.HintOf(usage), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
