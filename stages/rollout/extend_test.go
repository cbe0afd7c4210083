package rollout_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/planning"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
	"github.com/rollmill/rollmill/stages/rollout/watch"
	"github.com/rollmill/rollmill/storage/fault"
)

// What was there is there still, and what is planned stands beside it; nothing
// else is asked for. Two shards, or three, give the rows of one.
func TestExtend(t *testing.T) {
	e := newEngine(t, &engine{})
	dir := t.TempDir()
	base := filepath.Join(dir, "rollout")
	run(t, options(e, base, 4))
	p := planOf(t, base, filepath.Join(dir, "curate"), planRow{example: "ex-1", n: 2}, planRow{example: "ex-3", n: 1})
	o := extending(options(e, "", 4), base, p, filepath.Join(dir, "extended"))
	asked := len(e.Asked())
	report := run(t, o)
	if n := len(e.Asked()) - asked; n != 3 || report.Rows != 15 || report.Message != "15 trajectories, 0 failed; 3 of them new, 0 of these failed" {
		t.Errorf("%d calls, report %+v", n, report)
	}
	list, old := rows(t, o.Out.URI), rows(t, base)
	want := "ex-0:0 ex-0:1 ex-0:2 ex-1:0 ex-1:1 ex-1:2 ex-1:3 ex-1:4 ex-2:0 ex-2:1 ex-2:2 ex-3:0 ex-3:1 ex-3:2 ex-3:3"
	if got := names(list); got != want {
		t.Errorf("rows %s", got)
	}
	was := map[string]formats.Trajectory{}
	for _, row := range old {
		was[row.TrajectoryID] = row
	}
	for _, row := range list {
		if row.TrajectoryID != formats.TrajectoryID("run", row.ExampleID, 0, int(row.Generation)) {
			t.Errorf("%s:%d has the id %s", row.ExampleID, row.Generation, row.TrajectoryID)
		}
		before, is := was[row.TrajectoryID]
		if is != (row.Generation < 3) {
			t.Errorf("%s:%d: %v", row.ExampleID, row.Generation, is)
		}
		if diff := cmp.Diff(before, row, cmpopts.EquateEmpty()); is && diff != "" {
			t.Errorf("an old row is another one: %s", diff)
		}
		if !is && (len(row.Messages) != 2 || len(row.Messages[1].Logprobs) == 0 || row.Status != outcomes.StatusOK) {
			t.Errorf("new row %+v", row)
		}
	}
	d := opened(t, o.Out.URI)
	check(t, dataset.Verify(t.Context(), d))
	roles := []string{}
	for _, in := range d.Inputs {
		roles = append(roles, in.Role+" "+in.URI)
	}
	if fmt.Sprint(roles) != "[examples examples.jsonl plan ../curate base ../rollout]" || d.Base != nil || d.Facts["added"] != 3 || d.Facts["calls"] != 15 {
		t.Errorf("inputs %s, base %v, facts %v", roles, d.Base, d.Facts)
	}
	if again := run(t, o); !again.UpToDate || len(e.Asked())-asked != 3 {
		t.Errorf("again: %+v", again)
	}
	for _, n := range []int{2, 3, 7} {
		s := o
		s.Out.URI += fmt.Sprint("-", n)
		for i := range n {
			s.Out.Shard = stages.Shard{Index: i, Count: n}
			report = run(t, s)
		}
		if report.RowsDigest != d.RowsDigest.String() || names(rows(t, s.Out.URI)) != want {
			t.Errorf("%d shards: %+v", n, report)
		}
		if got := opened(t, s.Out.URI).Facts["calls"]; got != 15 {
			t.Errorf("%d shards count %v calls", n, got)
		}
	}
}

// Extending twice by halves of a plan is extending once.
func TestExtendTwiceIsOnce(t *testing.T) {
	e := newEngine(t, &engine{})
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 5))
		dir := t.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		o := options(e, at("rollout"), 1+r.IntN(8))
		o.Generations = 1 + r.IntN(4)
		*o.SamplingSeed = int64(seed)
		run(t, o)
		var whole, first, second []planRow
		for _, x := range questions(o.Examples.Len()) {
			if n := r.IntN(5); n > 0 {
				whole = append(whole, planRow{example: x.ID, n: n})
				half := r.IntN(n + 1)
				if half > 0 {
					first = append(first, planRow{example: x.ID, n: half})
				}
				if half < n {
					second = append(second, planRow{example: x.ID, n: n - half})
				}
			}
		}
		once := run(t, extending(o, at("rollout"), planOf(t, at("rollout"), at("whole"), whole...), at("once")))
		run(t, extending(o, at("rollout"), planOf(t, at("rollout"), at("first"), first...), at("half")))
		twice := run(t, extending(o, at("half"), planOf(t, at("half"), at("second"), second...), at("twice")))
		if once.RowsDigest != twice.RowsDigest || names(rows(t, at("once"))) != names(rows(t, at("twice"))) {
			t.Errorf("seed %d: once %s, twice %s", seed, once.RowsDigest, twice.RowsDigest)
		}
		check(t, dataset.Verify(t.Context(), opened(t, at("twice"))))
	}
}

// A plan alone: its examples and no others, numbered on in the epoch that it
// was made of, and from 0 in the next.
func TestPlanAlone(t *testing.T) {
	e := newEngine(t, &engine{})
	dir := t.TempDir()
	base := filepath.Join(dir, "rollout")
	run(t, options(e, base, 4))
	p := planOf(t, base, filepath.Join(dir, "curate"), planRow{example: "ex-3", n: 1}, planRow{example: "ex-1", n: 2})
	for epoch, want := range []string{"ex-1:3 ex-1:4 ex-3:3", "ex-1:0 ex-1:1 ex-3:0"} {
		o := options(e, filepath.Join(dir, fmt.Sprint("more-", epoch)), 4)
		o.Plan, o.Epoch = p, &epoch
		one := run(t, o)
		list := rows(t, o.Out.URI)
		if names(list) != want || list[0].TrajectoryID != formats.TrajectoryID("run", "ex-1", epoch, int(list[0].Generation)) {
			t.Errorf("epoch %d: %s", epoch, names(list))
		}
		o.Out.URI += "-shards"
		for i := range 2 {
			o.Out.Shard = stages.Shard{Index: i, Count: 2}
			if r := run(t, o); i == 1 && r.RowsDigest != one.RowsDigest {
				t.Errorf("epoch %d: %+v", epoch, r)
			}
		}
	}
	o := options(e, filepath.Join(dir, "nothing"), 4)
	o.Plan = planOf(t, base, filepath.Join(dir, "empty"))
	if r := run(t, o); r.Rows != 0 || !r.Sealed {
		t.Errorf("an empty plan: %+v", r)
	}
	if r := run(t, extending(o, base, o.Plan, filepath.Join(dir, "copy"))); r.RowsDigest != opened(t, base).RowsDigest.String() {
		t.Errorf("an empty plan extends to other rows: %+v", r)
	}
}

// What failed in the base stays there; what failed since is attempted again
// when asked, and nothing else is.
func TestExtendKeepsFailures(t *testing.T) {
	fail := "what is 1?"
	e := newEngine(t, &engine{Fault: func(_ int, q recordertest.Request) recordertest.Fault {
		if q.Messages[0].Content == fail {
			return recordertest.Fault{Status: 400}
		}
		return recordertest.Fault{}
	}})
	dir := t.TempDir()
	base, out := filepath.Join(dir, "rollout"), filepath.Join(dir, "extended")
	run(t, options(e, base, 3))
	p := planOf(t, base, filepath.Join(dir, "curate"), planRow{example: "ex-1", n: 3}, planRow{example: "ex-2", n: 1})
	fail = "what is 2?"
	o := extending(options(e, "", 3), base, p, out)
	if r := run(t, o); r.Counts[outcomes.StatusFailed] != 4 || r.Counts[outcomes.StatusOK] != 9 {
		t.Errorf("%+v", r)
	}
	fail = ""
	asked := len(e.Asked())
	o.RetryFailed = true
	r := run(t, o)
	if n := len(e.Asked()) - asked; n != 1 || r.Counts[outcomes.StatusFailed] != 3 || r.Rows != 13 {
		t.Errorf("%d calls: %+v", n, r)
	}
	statuses := ""
	for _, row := range rows(t, out) {
		statuses += row.Status[:1]
	}
	if statuses != "ooofffooooooo" {
		t.Errorf("rows are %s", statuses)
	}
	if r := run(t, o); !r.UpToDate || len(e.Asked())-asked != 1 {
		t.Errorf("again: %+v", r)
	}
}

// New rows say which policy sampled them, and the dataset says that groups are
// of two.
func TestExtendByAnotherPolicy(t *testing.T) {
	e := newEngine(t, &engine{})
	dir := t.TempDir()
	o := options(e, filepath.Join(dir, "rollout"), 3)
	o.Policy = &receipts.Policy{Version: 4}
	run(t, o)
	p := planOf(t, o.Out.URI, filepath.Join(dir, "curate"), planRow{example: "ex-1", n: 2}, planRow{example: "ex-2", n: 1})
	o = extending(o, o.Out.URI, p, filepath.Join(dir, "extended"))
	o.Policy = &receipts.Policy{Version: 5}
	r := run(t, o)
	versions := ""
	for _, row := range rows(t, o.Out.URI) {
		versions += fmt.Sprint(*row.PolicyVersion, *row.Calls[0].PolicyVersion, " ")
	}
	if versions != "4 4 4 4 4 4 4 4 4 4 4 4 5 5 5 5 4 4 4 4 4 4 5 5 " {
		t.Errorf("versions %s", versions)
	}
	if opened(t, o.Out.URI).Facts["mixed_version_groups"] != 2 || !strings.HasSuffix(r.Message, "; 2 groups of more than one policy version") {
		t.Errorf("%+v", r)
	}
}

// Rows that cannot be copied by the page are decoded: groups that straddle
// parts, here.
func TestExtendWhatCannotBeCopied(t *testing.T) {
	e := newEngine(t, &engine{})
	dir := t.TempDir()
	base, torn := filepath.Join(dir, "rollout"), filepath.Join(dir, "torn")
	run(t, options(e, base, 4))
	list := rows(t, base)
	for i, cut := range []int{0, 5, 12} {
		if i == 2 {
			break
		}
		s, err := shards.Begin(t.Context(), torn, manifest.Spec{Stage: "import", Kind: schema.KindTrajectories}, shards.Options{Shard: i, Of: 2})
		check(t, err)
		table := shards.NewTable[formats.Trajectory](s, "", -1)
		for _, row := range list[cut:][:[]int{5, 7}[i]] {
			check(t, table.Write(t.Context(), []formats.Trajectory{row}))
		}
		_, err = s.Commit(t.Context(), shards.Outcome{})
		check(t, err)
	}
	planRows := []planRow{{example: "ex-1", n: 2}, {example: "ex-3", n: 1}}
	want := run(t, extending(options(e, "", 4), base, planOf(t, base, filepath.Join(dir, "curate"), planRows...), filepath.Join(dir, "copied")))
	for _, n := range []int{1, 2} {
		o := extending(options(e, "", 4), torn, planOf(t, torn, filepath.Join(dir, "curate-torn"), planRows...), filepath.Join(dir, fmt.Sprint("decoded-", n)))
		var got stages.Report
		for i := range n {
			o.Out.Shard = stages.Shard{Index: i, Count: n}
			got = run(t, o)
		}
		if got.RowsDigest != want.RowsDigest {
			t.Errorf("%d shards: decoded %s, copied %s", n, got.RowsDigest, want.RowsDigest)
		}
		check(t, dataset.Verify(t.Context(), opened(t, o.Out.URI)))
	}
}

// When the budget ends, the rest of the plan is skipped rows, and the same
// command with more money makes them.
func TestExtendWithinABudget(t *testing.T) {
	e := newEngine(t, &engine{})
	dir := t.TempDir()
	base := filepath.Join(dir, "rollout")
	run(t, options(e, base, 4))
	p := planOf(t, base, filepath.Join(dir, "curate"), planRow{example: "ex-0", n: 3}, planRow{example: "ex-2", n: 3})
	o := extending(options(e, "", 4), base, p, filepath.Join(dir, "extended"))
	o.Concurrency, o.Budget = 1, watch.Budget{Tokens: 1, SkipRest: true}
	r := run(t, o)
	if r.Counts[outcomes.StatusSkipped] != 5 || r.Rows != 18 {
		t.Errorf("%+v", r)
	}
	o.Budget, o.RetryFailed = watch.Budget{}, true
	asked := len(e.Asked())
	if r = run(t, o); r.Counts[outcomes.StatusOK] != 18 || len(e.Asked())-asked != 5 {
		t.Errorf("%d calls: %+v", len(e.Asked())-asked, r)
	}
}

func TestExtendRefuses(t *testing.T) {
	e := newEngine(t, &engine{})
	dir := t.TempDir()
	base, other := filepath.Join(dir, "rollout"), filepath.Join(dir, "other")
	run(t, options(e, base, 3))
	o := options(e, other, 3)
	*o.SamplingSeed++
	run(t, o)
	curated := filepath.Join(dir, "curate")
	p := planOf(t, base, curated, planRow{example: "ex-1", n: 2})
	for want, change := range map[string]func(*rollout.Options){
		"without --plan":                         func(o *rollout.Options) { o.Plan = nil },
		"the plan is of epoch 0":                 func(o *rollout.Options) { o.Epoch = new(1) },
		`of run "run", this one`:                 func(o *rollout.Options) { o.Run = "another" },
		"the plan was made of":                   func(o *rollout.Options) { o.Extend.URI = other },
		"curate wrote it":                        func(o *rollout.Options) { o.Extend.URI = curated },
		"--out and --extend are both":            func(o *rollout.Options) { o.Out.URI = base },
		"that are not in the task file, such as": func(o *rollout.Options) { o.Examples = set(questions(1)) },
		"no dataset":                             func(o *rollout.Options) { o.Extend.URI = filepath.Join(dir, "nothing") },
		"it lacks 1 of the planned exam": func(o *rollout.Options) {
			o.Plan = planOf(t, base, curated+"-2", planRow{example: "ex-1", n: 2}, planRow{example: "ex-9", n: 1})
			o.Examples = set(questions(10))
		},
		"holds another dataset": func(o *rollout.Options) { o.Out.URI = other },
	} {
		o := extending(options(e, "", 3), base, p, filepath.Join(dir, "extended"))
		change(&o)
		if _, err := rollout.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	if _, err := planning.OpenPlan(t.Context(), stages.Input{URI: base}); !errors.Is(err, fault.ErrInvalid) ||
		!strings.Contains(err.Error(), "no table _plan") {
		t.Errorf("rollouts as a plan: %v", err)
	}
}
