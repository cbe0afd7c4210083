package train_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/examples"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/funnel"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/look/query"
	"github.com/rollmill/rollmill/pipelines/tidy"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/pairs"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards"
)

// addsUp checks the equations of a funnel, and returns its steps by name.
func addsUp(t *testing.T, f funnel.Funnel) map[string]funnel.Step {
	t.Helper()
	total := func(m map[string]int64) (n int64) {
		for name, v := range m {
			if n += v; v <= 0 || name == "" {
				t.Errorf("%q is %d", name, v)
			}
		}
		return n
	}
	before, steps := map[string]int64{}, map[string]funnel.Step{}
	for _, s := range f.Steps {
		if s.In != before[s.Unit]+total(s.Added) || s.In != s.Out+total(s.Lost)+total(s.Open) || s.Out < 0 {
			t.Errorf("after %d, it does not add up: %+v", before[s.Unit], s)
		}
		if _, twice := steps[s.Name]; twice {
			t.Errorf("%s comes twice", s.Name)
		}
		before[s.Unit], steps[s.Name] = s.Out, s
	}
	var text strings.Builder
	if err := f.WriteText(&text); err != nil || len(f.Steps) > 0 && !strings.Contains(text.String(), f.Steps[0].Name) {
		t.Errorf("%v\n%s", err, &text)
	}
	return steps
}

// randomRun is a run of random rollouts, whose scores, groups and curated rows the stages make.
type randomRun struct {
	*testing.T
	root string
	rng  *rand.Rand
}

// rollout writes rows as rollout does: with their states and classes, and what an extension added.
func (r randomRun) rollout(dir string, o randomtest.Options, added int64, inputs ...manifest.Ref) {
	out := shards.Outcome{Counts: map[string]int64{}, Failures: map[string]int64{}, Facts: map[string]float64{}}
	spec := manifest.Spec{Stage: "rollout", Version: 3, Kind: schema.KindTrajectories, Params: map[string]any{"run": "run", "rows": added, "at": dir},
		Inputs: inputs}
	if out.Facts["examples"] = float64(o.Groups); added > 0 {
		out.Facts["added"] = float64(added)
	}
	s, err := shards.Begin(r.Context(), filepath.Join(dir, "rollout"), spec, shards.Options{})
	r.check(err)
	table := shards.NewTable[formats.Trajectory](s, "", -1)
	for rows := range randomtest.Trajectories(7, o) {
		for i := range rows {
			if out.Counts[rows[i].Status]++; rows[i].Status == outcomes.StatusFailed {
				out.Failures[rows[i].FailureClass]++
			}
		}
		r.check(table.Write(r.Context(), rows))
	}
	_, err = s.Commit(r.Context(), out)
	r.check(err)
}

func (r randomRun) check(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// stage runs a stage in an epoch's folder: whole, or one of its two shards.
func (r randomRun) stage(dir, stage string, whole bool) {
	in, out := stages.Input{URI: filepath.Join(dir, map[string]string{"score": "rollout", "group": "score", "curate": "group"}[stage])}, stages.Output{}
	if out.URI = filepath.Join(dir, stage); !whole {
		out.Shard = stages.Shard{Index: 1, Count: 2}
	}
	var err error
	switch stage {
	case "score":
		spec, bad := score.ParseReward("r=stored:solved")
		r.check(bad)
		_, err = score.Run(r.Context(), score.Options{In: in, Out: out, Registry: rewards.All, Rewards: score.Specs{spec}, MaxFailureRate: new(1.0)})
	case "group":
		o := group.Options{In: in, Out: out, Estimator: plugin.Pick(estimators.All, group.DefaultEstimator)}
		if r.rng.IntN(2) == 0 {
			o.Pairs = pairs.Settings{Mode: pairs.Exhaustive, Limit: 1 + r.rng.IntN(3)}
		}
		_, err = group.Run(r.Context(), o)
	case "curate":
		_, err = curate.Run(r.Context(), curate.Options{In: in, Out: out, Rules: plugin.Every(rules.All), MinValid: r.rng.IntN(4)})
	}
	r.check(err)
}

// counted returns how many rows of each stage go on, read from the rows.
func (r randomRun) counted(dir string, of funnel.Step, last string) int64 {
	stage, keep := map[string]string{"attempts": "rollout", "scored": "score", "grouped": "group", "kept": "curate"}[of.Name], int64(0)
	d, err := dataset.Open(r.Context(), filepath.Join(dir, last, stage), dataset.OpenOptions{})
	r.check(err)
	for row, err := range query.Rows(r.Context(), d, query.Query{}, "status", "reward") {
		r.check(err)
		if good := row.Status == outcomes.StatusOK || row.Status == outcomes.StatusTruncated; stage == "rollout" && good || stage != "rollout" && row.Reward != nil {
			keep++
		}
	}
	return keep
}

// epoch makes an epoch up to a stage, and checks its funnel.
func (r randomRun) epoch(e int) {
	dir, last := filepath.Join(r.root, fmt.Sprint("epoch-", e)), ""
	o := randomtest.Options{Groups: 3 + r.rng.IntN(6), Generations: 1 + r.rng.IntN(5), Messages: 3, SampledTokens: 9, PromptTokens: 9, Epoch: e, Run: "run",
		Scored: true, Failures: 0.3, Unscored: 0.2}
	kept, dropped := int64(o.Groups+r.rng.IntN(3)), int64(r.rng.IntN(3))
	file := manifest.Ref{Role: "examples", URI: "train.jsonl", Digest: "d", Counts: map[string]int64{examples.Kept: kept, examples.DropFiltered: dropped,
		examples.Blank: 2}}
	r.rollout(dir, o, 0, file)
	refills := r.rng.IntN(3)
	for range refills {
		base, err := dataset.Open(r.Context(), filepath.Join(dir, last, "rollout"), dataset.OpenOptions{})
		r.check(err)
		r.stage(filepath.Join(dir, last), "score", true)
		last = filepath.Join(last, "extended")
		o.Generations++
		r.rollout(filepath.Join(dir, last), o, int64(o.Groups), file, base.Ref("base", "x"))
	}
	names, steps := []string{"score", "group", "curate"}, []string{"attempts", "scored", "grouped", "kept", "submitted"}
	whole, half := 1+r.rng.IntN(3), r.rng.IntN(2) == 0
	if refills == 0 {
		whole = r.rng.IntN(4)
	}
	for i, stage := range names {
		if i < whole || i == whole && half {
			r.stage(filepath.Join(dir, last), stage, i < whole)
		}
	}
	open := "not " + []string{"scored", "grouped", "curated", "submitted"}[whole] + " yet"
	if half && whole < 3 {
		open = names[whole] + ": shard 0 of 2 missing: the dataset is incomplete"
	}
	alone := filepath.Join(r.TempDir(), "alone")
	r.check(os.CopyFS(filepath.Join(alone, "epoch-0"), os.DirFS(dir)))
	run, err := history.Collect(r.Context(), alone, nil)
	r.check(err)
	got := addsUp(r.T, run.Funnel)
	if s := got["examples"]; s.In != kept+dropped || s.Out != int64(o.Groups) || s.Lost["not in the plan"] != kept-int64(o.Groups) || s.Lost[examples.DropFiltered] != dropped {
		r.Errorf("%d kept and %d dropped, %d attempted: %+v", kept, dropped, o.Groups, s)
	}
	if s := got["attempts"]; s.Added["in refills"] != int64(refills*o.Groups) || s.Added["by rollout"] != int64(o.Groups*(o.Generations-refills)) || len(s.Added) > 2 {
		r.Errorf("%d refills of %d examples: %v", refills, o.Groups, s.Added)
	}
	for i, name := range steps {
		switch s, has := got[name]; {
		case has != (i <= whole+1):
			r.Errorf("%s: %t, of %d whole stages", name, has, whole)
		case i == whole+1:
			if s.Open[open] != s.In || len(s.Open) != 1 {
				r.Errorf("%q: %+v", open, s)
			}
		case i <= whole:
			if n := r.counted(dir, s, last); n != s.Out {
				r.Errorf("%s: %d rows, %+v", name, n, s)
			}
			if s.Lost["for a reason that is not counted"]+s.Added["from elsewhere"] > 0 {
				r.Errorf("%s is not explained: %+v", name, s)
			}
		}
	}
}

// The steps of a funnel add up, and say what the rows say, whatever ran: over epochs that are refilled, cut off or in
// shards of which one is missing; also when old rollouts were pruned.
func TestFunnelOfRandomRuns(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := randomRun{t, t.TempDir(), rand.New(rand.NewPCG(seed, 1))}
			for e := range 3 {
				r.epoch(e)
			}
			run, err := history.Collect(t.Context(), r.root, nil)
			r.check(err)
			before := addsUp(t, run.Funnel)
			p, err := tidy.Look(t.Context(), tidy.PruneOptions{Root: r.root, KeepEpochs: 1, Drop: []string{"rollout"}, Grace: 1, Force: true})
			r.check(err)
			r.check(p.Apply(t.Context()))
			run, err = history.Collect(t.Context(), r.root, nil)
			r.check(err)
			after := addsUp(t, run.Funnel)
			if len(p.Removed) == 0 {
				t.Error("nothing was pruned")
			}
			for _, name := range []string{"attempts", "scored", "kept"} {
				if diff := cmp.Diff(before[name], after[name]); diff != "" {
					t.Errorf("pruned: %s", diff)
				}
			}
		})
	}
}
