package eval

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/pipelines/inspect/audit"
	"github.com/rollmill/rollmill/pipelines/look/funnel"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/plugin"
)

// TestFlatGroupsAreCountedAlike: group, curate with its plan, audit, report, try and refill count
// the same flat groups, whatever the estimator and however the rows lie.
func TestFlatGroupsAreCountedAlike(t *testing.T) {
	ctx, tried, ran, flat, scattered := t.Context(), 0, map[string]int{}, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		tried++
		root := fmt.Sprintf("mem://flat-alike-%d/run", tried)
		apart := rapid.Bool().Draw(t, "scattered")
		scores := scored(ctx, t, root, apart)
		name := rapid.SampledFrom(estimators.All.Names()).Draw(t, "estimator")
		solvable, threshold := name == "passk" || name == "passk-analytic" || name == "maxrl", 1e9
		if solvable { // what all members solved is not planned
			threshold = 1
		}
		o := group.Options{In: stages.Input{URI: scores}, Out: stages.Output{URI: root + "/group"}, SolvedThreshold: &threshold,
			Estimator: plugin.Pick(estimators.All, name), Compat: rapid.SampledFrom(group.Compats).Draw(t, "compat"), AllowUnscored: true}
		if o.Validate() != nil {
			o.Compat = group.CompatNone
		}
		if _, err := group.Run(ctx, o); apart && name == "rae" {
			return
		} else if err != nil {
			t.Fatal(name, err)
		}
		in := opened(ctx, t, o.Out.URI)
		c := curate.Options{In: stages.Input{URI: o.Out.URI}, Out: stages.Output{URI: root + "/curate"}, Rules: plugin.Every(rules.All), MinValid: 1}
		c.PlanTable.Generations, c.PlanTable.MaxPerExample = 1, 1000
		if _, err := curate.Run(ctx, c); err != nil {
			t.Fatal(name, err)
		}
		curated := opened(ctx, t, c.Out.URI)

		e := &history.Epoch{}
		e.Add("group", funnel.Stage{Manifest: &in.Manifest})
		var r TryResult
		if err := r.read(ctx, o.Out.URI, TryOptions{}); err != nil {
			t.Fatal(err)
		}
		tries := int64(0)
		for _, g := range r.Groups {
			if g.Flat {
				tries++
			}
		}
		planned := int64(0)
		for p, err := range dataset.Each[decision.Planned](ctx, curated, schema.TablePlan, dataset.Range{Rows: curated.Tables[schema.TablePlan].Rows}) {
			if err != nil {
				t.Fatal(err)
			}
			if p.Reason == decision.PlanFlat {
				planned++
			}
		}
		audited := found(ctx, t, o.Out.URI)
		with := int64(in.Facts["groups_with_advantages"])
		if audited < 0 && e.Flat*2 <= with { // it says nothing of less than half
			audited = e.Flat
		}
		if tries != e.Flat || audited != e.Flat || !solvable && planned != e.Flat {
			t.Fatalf("%s, compat %s: report has %d flat groups, try %d, audit %d, the plan %d", name, o.Compat, e.Flat, tries, audited, planned)
		}
		if kept := int64(curated.Facts["groups_kept"]); kept != with-e.Flat {
			t.Fatalf("%s, compat %s: %d groups kept, of %d with advantages %d are flat", name, o.Compat, kept, with, e.Flat)
		}
		if n := found(ctx, t, c.Out.URI); n > 0 {
			t.Fatalf("%s, compat %s: %d groups of the curated dataset are flat", name, o.Compat, n)
		}
		ran[name]++
		if flat += int(e.Flat); apart {
			scattered++
		}
	})
	if flat == 0 || scattered == 0 || tried >= 100 && len(ran) < 10 {
		t.Errorf("%d flat groups, %d scattered datasets, estimators %v", flat, scattered, ran)
	}
}

func opened(ctx context.Context, t *rapid.T, uri string) *dataset.Dataset {
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// found returns how many flat groups audit finds by advantages; -1 without a finding.
func found(ctx context.Context, t *rapid.T, uri string) int64 {
	a, err := audit.Run(ctx, audit.Options{URI: uri, Only: []string{validate.Flat}})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Findings) == 0 {
		return -1
	}
	return a.Findings[0].Count
}

// scored writes random trajectories and scores of two components and a teacher's, of which many are equal.
func scored(ctx context.Context, t *rapid.T, root string, scattered bool) string {
	var rows []formats.Trajectory
	seed := rapid.Uint64().Draw(t, "seed")
	r := rand.New(rand.NewPCG(seed, 1))
	for g := range randomtest.Trajectories(int64(seed>>1), randomtest.Options{Groups: 6, Generations: 4, Messages: 6, SampledTokens: 6, PromptTokens: 8, Failures: .2}) {
		for i := range g {
			g[i].Metadata = fmt.Sprintf(`{"role":"%d"}`, r.IntN(2))
		}
		rows = append(rows, g[:1+r.IntN(len(g))]...)
	}
	if scattered {
		r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	}
	write(ctx, t, root+"/rollout", manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories}, rows)
	ref := opened(ctx, t, root+"/rollout").Ref("base", root+"/score")
	values := [][]float64{{0, 1}, {1, 1, 0}, {0}, {-1, .5, 2}, {.3, .1 + .2}}[r.IntN(5)]
	var all []formats.Score
	for i := range rows {
		x := &rows[i]
		s := formats.Score{TrajectoryID: x.TrajectoryID, ExampleID: x.ExampleID, Epoch: x.Epoch, Generation: x.Generation, Status: x.Status}
		if x.Status != outcomes.StatusOK && x.Status != outcomes.StatusTruncated {
			s.Failure = outcomes.RewardTrajectory
			all = append(all, s)
			continue
		}
		a, b, none := values[r.IntN(len(values))], values[r.IntN(len(values))], 0.0
		s.Reward = new(a + b)
		s.Rewards = []formats.NamedReward{{Name: "a", Value: &a, Weight: 1}, {Name: "b", Value: &b, Weight: 1}, {Name: "teacher", Value: &none, Weight: 0}}
		for k := range x.Messages {
			if m := &x.Messages[k]; x.Trained(k) {
				s.Signals = append(s.Signals, formats.Signal{Message: int32(k), Component: "teacher", Value: -1, Values: slices.Repeat([]float32{-1}, len(m.TokenIDs))})
			}
		}
		all = append(all, s)
	}
	write(ctx, t, root+"/score", manifest.Spec{Stage: "score", Version: 1, Kind: schema.KindScores, Base: &ref, Inputs: []manifest.Ref{ref}}, all)
	return root + "/score"
}

func write[T any](ctx context.Context, t *rapid.T, uri string, spec manifest.Spec, rows []T) {
	s, err := shards.Begin(ctx, uri, spec, shards.Options{})
	if err == nil {
		err = shards.NewTable[T](s, "", -1).Write(ctx, rows)
	}
	if err == nil {
		_, err = s.Commit(ctx, shards.Outcome{})
	}
	if err != nil {
		t.Fatal(err)
	}
}
