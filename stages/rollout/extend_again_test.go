package rollout_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

// remembered is an agent whose attempts were made before, of all kinds.
type remembered map[string]formats.Trajectory

func (r remembered) Describe() agents.Description {
	return agents.Description{Kind: "remembered", Stored: r.stored}
}

func (remembered) Close() error { return nil }

func (remembered) Attempt(context.Context, agents.Attempt) (agents.Result, error) {
	return agents.Result{}, nil
}

func (r remembered) stored(_ context.Context, a agents.Attempt) (formats.Trajectory, error) {
	return r[a.TrajectoryID], nil
}

// To extend by as many as are missing is to roll out more at once, whatever
// the rows are like and however their base lies in parts: tiny ones, of which
// many share a page, and such that fill several.
func TestExtendingIsRollingOutMore(t *testing.T) {
	for name, like := range map[string]randomtest.Options{
		"tiny":   {Groups: 90, SampledTokens: 10, PromptTokens: 8, Messages: 3, Failures: 0.3},
		"medium": {Groups: 40, SampledTokens: 900, Messages: 4, Branches: 0.3, Failures: 0.2},
		"large":  {Groups: 3, SampledTokens: 60_000, Messages: 3},
	} {
		t.Run(name, func(t *testing.T) {
			like.Run, like.Generations = "run", 5
			agent := remembered{}
			o := rollout.Options{Run: "run", Agent: agent, Concurrency: 4, MaxFailureRate: new(float64)}
			*o.MaxFailureRate = 1
			var planRows []planRow
			var list []formats.Example
			for rows := range randomtest.Trajectories(11, like) {
				id := rows[0].ExampleID
				list = append(list, formats.Example{ID: id, Row: len(list)})
				planRows = append(planRows, planRow{example: id, n: 2})
				for _, row := range rows {
					agent[row.TrajectoryID] = row
				}
			}
			o.Examples = set(list)
			dir := t.TempDir()
			if name == "medium" {
				dir = "mem://extending" // parts are fetched in pieces
			}
			sharded := func(o rollout.Options, name string, generations, shards int) (r stages.Report) {
				o.Out.URI, o.Generations = dir+"/"+name, generations
				for i := range shards {
					o.Out.Shard = stages.Shard{Index: i, Count: shards}
					r = run(t, o)
				}
				return r
			}
			want := sharded(o, "all", 5, 1)
			sharded(o, "rollout", 3, 3)
			p := planOf(t, dir+"/rollout", dir+"/curate", planRows...)
			for _, n := range []int{1, 2} {
				more := extending(o, dir+"/rollout", p, "")
				got := sharded(more, fmt.Sprint("extended-", n), 0, n)
				if got.RowsDigest != want.RowsDigest || got.Counts[outcomes.StatusFailed] != want.Counts[outcomes.StatusFailed] {
					t.Errorf("%d shards: extended %s, rolled out at once %s", n, got.RowsDigest, want.RowsDigest)
				}
				d := opened(t, dir+fmt.Sprint("/extended-", n))
				check(t, dataset.Verify(t.Context(), d))
				if at := names(rows(t, d.URI())); at != names(rows(t, dir+"/all")) {
					t.Errorf("%d shards: the rows lie as %s", n, at)
				}
				if calls := opened(t, dir+"/all").Facts["calls"]; d.Facts["calls"] != calls {
					t.Errorf("%d shards: %v calls, want %v", n, d.Facts["calls"], calls)
				}
			}
		})
	}
}

// Parameters of the agent that differ from those of the base are logged.
func TestExtendingWithOtherParametersWarns(t *testing.T) {
	e := newEngine(t, &engine{})
	dir := t.TempDir()
	o := options(e, filepath.Join(dir, "rollout"), 2)
	run(t, o)
	p := planOf(t, o.Out.URI, filepath.Join(dir, "curate"), planRow{example: "ex-1", n: 1})
	for temperature, warnings := range map[float64]int{0.7: 0, 1.5: 1} {
		var log bytes.Buffer
		o := extending(o, filepath.Join(dir, "rollout"), p, filepath.Join(dir, fmt.Sprint("extended-", temperature)))
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
		o.Sampling = map[string]any{"temperature": temperature}
		run(t, o)
		if n := strings.Count(log.String(), "made with another parameter"); n != warnings {
			t.Errorf("temperature %v: %s", temperature, log.String())
		}
	}
}
