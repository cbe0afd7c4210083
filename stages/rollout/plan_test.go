package rollout_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/planning"
)

// planRow is a row of a plan.
type planRow struct {
	example string
	n       int
	from    string // a trajectory that is forked
	call    int32
}

// planOf writes what curate would of a dataset, and opens its plan.
func planOf(t testing.TB, base, out string, planRows ...planRow) *planning.Plan {
	t.Helper()
	ctx := context.Background()
	d, err := dataset.Open(ctx, base, dataset.OpenOptions{AcceptGates: []string{"max-failure-rate"}})
	check(t, err)
	epoch, next := int32(0), map[string]int32{}
	for _, row := range rows(t, base) {
		epoch = row.Epoch
		next[row.ExampleID] = max(next[row.ExampleID], row.Generation+1)
	}
	params := map[string]any{"epoch": epoch, "wishes": fmt.Sprint(planRows)}
	s, err := shards.Begin(ctx, out, manifest.Spec{Stage: "curate", Kind: schema.KindTrajectories, Params: params, Inputs: []manifest.Ref{d.Ref("base", out)}},
		shards.Options{})
	check(t, err)
	if !s.UpToDate() {
		check(t, shards.NewTable[formats.Trajectory](s, "", -1).Write(ctx, nil))
		var list []decision.Planned
		for _, w := range planRows {
			row := decision.Planned{ExampleID: w.example, GroupID: formats.GroupID(w.example, int(epoch)), Epoch: epoch,
				Generations: int32(w.n), First: next[w.example], Reason: decision.PlanFlat}
			if w.from != "" {
				row.ForkedFrom, row.ForkCall, row.Reason = w.from, new(w.call), decision.PlanFork
			}
			list = append(list, row)
		}
		check(t, shards.NewTable[decision.Planned](s, schema.TablePlan, -1).Write(ctx, list))
	}
	_, err = s.Commit(ctx, shards.Outcome{})
	check(t, err)
	p, err := planning.OpenPlan(ctx, stages.Input{URI: out})
	check(t, err)
	return p
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func opened(t testing.TB, uri string) *dataset.Dataset {
	t.Helper()
	d, err := dataset.Open(context.Background(), uri, dataset.OpenOptions{AcceptGates: []string{"max-failure-rate"}})
	check(t, err)
	return d
}

// extending are the options of an extended rollout.
func extending(o rollout.Options, base string, p *planning.Plan, out string) rollout.Options {
	o.Plan, o.Extend, o.Out.URI = p, stages.Input{URI: base}, out
	return o
}

// names shows rows in order: "ex-0:0 ex-0:1".
func names(list []formats.Trajectory) string {
	var out []string
	for _, r := range list {
		out = append(out, fmt.Sprintf("%s:%d", r.ExampleID, r.Generation))
	}
	return strings.Join(out, " ")
}
