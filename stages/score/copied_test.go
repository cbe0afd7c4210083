package score_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/storage/fault"
)

// again scores with earlier scores to carry over.
func again(t *testing.T, in, from, out string, only []string, specs ...string) stages.Report {
	t.Helper()
	o := options(t, in, out, specs...)
	o.Only, o.From.URI = only, from
	return run(t, o)
}

func computed(t *testing.T, uri, name string) float64 {
	t.Helper()
	_, d := rows(t, uri)
	return d.Facts["rewards."+name+".computed"]
}

// TestOnlyGivesTheRowsOfScoringAnew: whatever is carried over, the rows are
// those of a run that carries nothing, and no more is computed than asked for.
func TestOnlyGivesTheRowsOfScoringAnew(t *testing.T) {
	const in = "mem://only/rollout"
	base(t, in, trajectories())
	program := filepath.Join(t.TempDir(), "reward.sh")
	write(t, program, "#!/bin/sh\nexec "+words("crash")+"\n", 0o755)
	before := []string{"prog=command:" + program, "steps*0.5=command:" + words("shaped"), "a=expr:generation", "sum*0=expr:rewards.prog + rewards.a"}
	old := run(t, options(t, in, "mem://only/old", before...))
	_, d := rows(t, "mem://only/old")
	crashed, scorable := d.Facts["rewards.prog.failed"], d.Facts["attempted"]
	if crashed == 0 || crashed == scorable {
		t.Fatalf("%v of %v crashed", crashed, scorable)
	}
	for _, mode := range []string{"missing", "failed", "changed", "a", "steps"} {
		out := "mem://only/same-" + mode
		if got := again(t, in, "mem://only/old", out, []string{mode}, before...); got.RowsDigest != old.RowsDigest || got.Identity == old.Identity {
			t.Errorf("--only %s over unchanged rewards gave other rows", mode)
		}
		want := map[string]float64{"failed": crashed, "missing": 0, "changed": 0, "a": 0, "steps": 0}[mode]
		if got := computed(t, out, "prog"); got != want {
			t.Errorf("--only %s asked the program about %v rows, not %v", mode, got, want)
		}
	}

	write(t, program, "#!/bin/sh\nexec "+words("answer")+"\n", 0o755)
	fixed := run(t, options(t, in, "mem://only/fixed", before...))
	if got := again(t, in, "mem://only/old", "mem://only/failed", []string{"failed"}, before...); got.RowsDigest != fixed.RowsDigest {
		t.Error("--only failed with the program mended gave other rows than scoring anew")
	}
	for name, want := range map[string]float64{"prog": crashed, "sum": crashed, "steps": crashed, "a": 0} {
		if got := computed(t, "mem://only/failed", name); got != want {
			t.Errorf("%s was computed for %v rows, not %v", name, got, want)
		}
	}
	if again(t, in, "mem://only/old", "mem://only/mended", []string{"changed"}, before...).RowsDigest != fixed.RowsDigest ||
		computed(t, "mem://only/mended", "prog") != scorable || computed(t, "mem://only/mended", "a") != 0 {
		t.Error("--only changed did not notice that the program changed")
	}

	after := []string{before[0], before[1], "a*2=expr:generation + 1", before[3], "more=expr:rewards.sum * 2"}
	anew := run(t, options(t, in, "mem://only/anew", after...))
	for _, shards := range []int{1, 4} {
		out := "mem://only/shards-" + stringOf(shards)
		var got stages.Report
		for i := range shards {
			o := options(t, in, out, after...)
			o.Only, o.From.URI, o.Out.Shard, o.BatchRows = []string{"changed", "missing"}, "mem://only/fixed", stages.Shard{Index: i, Count: shards}, 5
			got = run(t, o)
		}
		if got.RowsDigest != anew.RowsDigest {
			t.Errorf("--only changed in %d shards gave other rows than scoring anew", shards)
		}
		if computed(t, out, "prog") != 0 || computed(t, out, "sum") != scorable || computed(t, out, "more") != scorable {
			t.Errorf("computed: prog %v, sum %v, more %v", computed(t, out, "prog"), computed(t, out, "sum"), computed(t, out, "more"))
		}
	}
}

// TestOnlyOverScores: scores to carry forward are those to carry over when no
// others are named, and the rewards theirs.
func TestOnlyOverScores(t *testing.T) {
	const in = "mem://only-over/rollout"
	base(t, in, trajectories())
	first := run(t, options(t, in, "mem://only-over/first", "a=expr:generation", "b=expr:rewards.a / (generation - 1)"))
	o := options(t, "mem://only-over/first", "mem://only-over/again")
	o.Only = []string{"failed"}
	if got := run(t, o); got.RowsDigest != first.RowsDigest {
		t.Error("the same rewards again gave other rows")
	}
	_, d := rows(t, "mem://only-over/again")
	if f := d.Facts["rewards.b.failed"]; f == 0 || d.Facts["rewards.b.computed"] != f || d.Facts["rewards.a.computed"] != 0 {
		t.Errorf("facts %v", d.Facts)
	}
	got := again(t, in, "mem://only-over/first", "mem://only-over/none", []string{"failed"}, "a=expr:generation", "c*0=expr:1")
	if got.Counts["unscored"] != 0 {
		t.Errorf("counts %v", got.Counts)
	}
	none, _ := rows(t, "mem://only-over/none")
	for _, s := range none {
		if score.Scorable(s.Status) && (s.Rewards[1].Failure != outcomes.RewardMissing || s.Reward == nil) {
			t.Fatalf("a reward that nothing asked for: %+v", s)
		}
	}
	all := run(t, options(t, in, "mem://only-over/all", "a=expr:generation", "c*0=expr:1"))
	if filled := again(t, in, "mem://only-over/none", "mem://only-over/filled", []string{"missing"}, "a=expr:generation",
		"c*0=expr:1"); filled.RowsDigest != all.RowsDigest {
		t.Error("--only missing gave other rows than scoring anew")
	}
}

func TestOnlyRefusesToMix(t *testing.T) {
	const in = "mem://only-mix/rollout"
	base(t, in, trajectories())
	base(t, "mem://only-mix/other", trajectories()[:40])
	run(t, options(t, in, "mem://only-mix/old", "a=expr:generation", "b=expr:2"))
	for what, c := range map[string]struct {
		in, from string
		only     []string
		specs    []string
		kind     error
		want     string
	}{
		"another definition": {in, "mem://only-mix/old", []string{"failed"}, []string{"a=expr:generation * 2"}, nil, "reward \"a\" is a=expr:generation in"},
		"an unknown reward":  {in, "mem://only-mix/old", []string{"bb"}, []string{"b=expr:2"}, nil, "--only bb: there is no such reward"},
		"other trajectories": {"mem://only-mix/other", "mem://only-mix/old", []string{"failed"}, []string{"b=expr:2"}, fault.ErrInvalid,
			"its rows are not those of"},
		"no scores": {in, "", []string{"failed"}, []string{"b=expr:2"}, nil, "there are no earlier scores"},
		"no --only": {in, "mem://only-mix/old", nil, []string{"b=expr:2"}, nil, "without --only"},
	} {
		o := options(t, c.in, "mem://only-mix/out", c.specs...)
		o.Only, o.From.URI = c.only, c.from
		_, err := score.Run(t.Context(), o)
		var staged *fault.Error
		if err == nil || !strings.Contains(err.Error(), c.want) || c.kind != nil && !errors.Is(err, c.kind) ||
			c.kind == nil && (!errors.As(err, &staged) || staged.Kind != fault.Usage) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := dataset.Open(t.Context(), "mem://only-mix/out", dataset.OpenOptions{}); err == nil {
		t.Error("a refused run wrote a dataset")
	}
}
