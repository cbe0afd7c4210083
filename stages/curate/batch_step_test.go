package curate_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
)

// The trainers' batches, whole: what is in testdata/advantages is given as
// group leaves it, distances from the group's mean, and must come out as TRL's
// scale_rewards "batch" has it.
func TestBatchStepOfTRL(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "advantages", "grpo-batch.trl.json"))
	check(t, err)
	var file struct {
		Batches []struct {
			Weights    []float64
			Groups     [][][]float64
			Advantages [][]float64
		}
	}
	check(t, json.Unmarshal(data, &file))
	if len(file.Batches) < 55 {
		t.Fatalf("%d batches", len(file.Batches))
	}
	step := &training.BatchStep{Of: training.BatchRewards, Sample: true, Epsilon: 1e-4}
	for i, b := range file.Batches {
		var rewards, want [][]float64
		for g, members := range b.Groups {
			var totals []float64
			for _, values := range members {
				total := 0.0
				for k, v := range values {
					total += b.Weights[k] * v
				}
				totals = append(totals, total)
			}
			rewards, want = append(rewards, totals), append(want, b.Advantages[g])
		}
		in := stepped(t, i, step, rewards)
		o := options(in, in+"-curate")
		ask(o, "keep-flat", true)
		o.MinValid = 1
		_, d := run(t, o)
		rows := readAll[formats.Trajectory](t, d, "")
		k := 0
		for _, group := range want {
			for _, a := range group {
				if got := *rows[k].Advantage; math.Abs(got-a) > 1e-6*max(1, math.Abs(a)) {
					t.Errorf("batch %d row %d: advantage %v, TRL has %v", i, k, got, a)
				}
				k++
			}
		}
		if k != len(rows) {
			t.Errorf("batch %d: %d rows, want %d", i, len(rows), k)
		}
	}
}

// GPG's step, by hand: three of four rewards are not 0. A batch of zeros is not divided.
func TestStepByShareOfNonZero(t *testing.T) {
	step := &training.BatchStep{Of: training.BatchNonZero}
	for i, rewards := range [][][]float64{{{0, 1}, {10, 14}}, {{0, 0}}} {
		in := stepped(t, i, step, rewards)
		o := options(in, in+"-curate")
		ask(o, "keep-flat", true)
		_, d := run(t, o)
		for k, r := range readAll[formats.Trajectory](t, d, "") {
			if want := [][]float64{{-0.5 / 0.75, 0.5 / 0.75, -2 / 0.75, 2 / 0.75}, {0, 0}}[i][k]; math.Abs(*r.Advantage-want) > 1e-12 {
				t.Errorf("batch %d row %d: %v, want %v", i, k, *r.Advantage, want)
			}
		}
	}
}

// stepped writes a group dataset with a step left to do; an offset moves every
// advantage.
func stepped(t *testing.T, n int, step *training.BatchStep, rewards [][]float64, offset ...float64) string {
	t.Helper()
	return edited(t, n, step, rewards, func(m *formats.Member) {
		for _, o := range offset {
			*m.Advantage += o
		}
	})
}

// edited is stepped with members that edit changed.
func edited(t *testing.T, n int, step *training.BatchStep, rewards [][]float64, edit func(*formats.Member)) string {
	t.Helper()
	uri := "mem://" + strings.ReplaceAll(t.Name(), "/", "-") + "-" + string(rune('a'+n%26)) + string(rune('a'+n/26)) + "/group"
	base := uri + "-rollout"
	s := begin(t, base, manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories}, 0, 1)
	w := shards.NewTable[formats.Trajectory](s, "", -1)
	id := func(g int) string { return string(rune('a' + g)) }
	for g := range rewards {
		var rows []formats.Trajectory
		for k := range rewards[g] {
			rows = append(rows, trajectory(example{id: id(g)}, 0, k))
		}
		check(t, w.Write(t.Context(), rows))
	}
	commit(t, s)
	ref := open(t, base).Ref("base", uri)
	s = begin(t, uri, manifest.Spec{Stage: "group", Version: 1, Kind: schema.KindGroups, Base: &ref, Inputs: []manifest.Ref{ref}}, 0, 1)
	members := shards.NewTable[formats.Member](s, "", 0)
	stats := shards.NewTable[formats.GroupStats](s, schema.TableGroups, -1)
	first := int64(0)
	for g := range rewards {
		mean, low, high := 0.0, math.Inf(1), math.Inf(-1)
		for _, r := range rewards[g] {
			mean += r / float64(len(rewards[g]))
			low, high = min(low, r), max(high, r)
		}
		var rows []formats.Member
		for k := range rewards[g] {
			m := member(trajectory(example{id: id(g)}, 0, k), "0", 0)
			a := rewards[g][k] - mean
			m.Reward, m.Advantage = &rewards[g][k], &a
			edit(&m)
			rows = append(rows, m)
		}
		check(t, members.Write(t.Context(), rows))
		check(t, stats.Write(t.Context(), []formats.GroupStats{{GroupID: rows[0].GroupID, ExampleID: id(g), FirstRow: first,
			Count: int32(len(rows)), Valid: int32(len(rows)), Mean: &mean, Min: &low, Max: &high}}))
		first += int64(len(rows))
	}
	state, err := json.Marshal(training.GroupState{Estimator: "grpo-batch", Compat: "trl", Batch: step})
	check(t, err)
	_, err = s.Commit(t.Context(), shards.Outcome{State: state})
	check(t, err)
	return uri
}

// Whatever the order of groups and the number of shards, to the bit; and
// dropping moves nobody.
func TestBatchStepKeepsItsBits(t *testing.T) {
	step := &training.BatchStep{Of: training.BatchAdvantages, Center: true, Sample: true}
	forward := [][]float64{{0.1, 0.7, 1e9}, {0.3, -5}, {1, 1}, {1e-9, 3, 0.2}}
	backward := [][]float64{forward[3], forward[2], forward[1], forward[0]}
	advantages := func(n int, rewards [][]float64, change func(*curate.Options)) map[float64]float64 {
		in := stepped(t, n, step, rewards)
		o := options(in, in+"-curate")
		change(&o)
		_, d := run(t, o)
		out := map[float64]float64{}
		for _, r := range readAll[formats.Trajectory](t, d, "") {
			out[*r.Reward] = *r.Advantage
		}
		return out
	}
	all := func(o *curate.Options) { ask(*o, "keep-flat", true) }
	want := advantages(0, forward, all)
	for r, a := range advantages(1, backward, all) {
		if want[r] != a {
			t.Errorf("reward %v: %v in one order, %v in the other", r, want[r], a)
		}
	}
	some := advantages(2, forward, func(o *curate.Options) {})
	if len(some) != len(want)-1 {
		t.Errorf("%d rewards are left of %d", len(some), len(want))
	}
	for r, a := range some {
		if want[r] != a {
			t.Errorf("reward %v: %v, and %v without a flat group", r, want[r], a)
		}
	}
	in := stepped(t, 3, step, forward)
	o := options(in, in+"-curate")
	ask(o, "keep-flat", true)
	for i := range 2 {
		o.Out.Shard = stages.Shard{Index: i, Count: 2}
		_, err := curate.Run(t.Context(), o)
		check(t, err)
	}
	for _, r := range readAll[formats.Trajectory](t, open(t, o.Out.URI), "") {
		if want[*r.Reward] != *r.Advantage {
			t.Errorf("reward %v: %v, and %v in two shards", *r.Reward, want[*r.Reward], *r.Advantage)
		}
	}
}
