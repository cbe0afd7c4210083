package query

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/kept"
	"github.com/rollmill/rollmill/storage"
)

// synthetic returns an index of synthetic rows, eight a group, with two named rewards.
func synthetic(rows int64) *Index {
	x := newIndex(&Sources{Base: &dataset.Dataset{Manifest: manifest.Manifest{Content: manifest.Content{Rows: rows}}}})
	stops := []string{outcomes.StopDone, outcomes.StopLength, outcomes.StopTurns}
	for i := range int32(rows) {
		example := fmt.Sprintf("example-%06d", i/8)
		a, b := float64(i*7919%1000)/1000, float64(i*104729%999983)/999983
		reward := (a + b) / 2
		w := &Row{TrajectoryID: formats.TrajectoryID("run", example, 0, int(i%8)), ExampleID: example, Generation: i % 8, Status: outcomes.StatusOK,
			Recorded: Recorded{Run: "run", StopReason: stops[i%3], Model: "model", PromptTokens: 500 + i%100, CompletionTokens: i % 5000,
				SampledTokens: i % 5000}, Reward: &reward, Advantage: &a}
		if i%50 == 0 {
			w.Status, w.FailureClass, w.Reward, w.Advantage = outcomes.StatusFailed, outcomes.FailTimeout, nil, nil
		}
		x.addBase(w)
		x.setRewards(x.Rows, w.Reward, []formats.NamedReward{{Name: "exact", Value: &a}, {Name: "style", Value: &b}})
		x.advantage[x.Rows] = number(w.Advantage)
		x.Rows++
	}
	x.complete()
	return x
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestMemory holds an index to 100 bytes a trajectory, and what it says of its size to
// what it takes.
func TestMemory(t *testing.T) {
	const rows = 250_000
	before := heap()
	x := synthetic(rows)
	took := int64(heap() - before)
	t.Logf("%.1f bytes a trajectory, %.1f by its own count", float64(took)/rows, float64(x.Bytes())/rows)
	if took > 100*rows || x.Bytes() > took*11/10 || x.Bytes() < took*9/10 {
		t.Errorf("%d bytes, %d by its own count", took, x.Bytes())
	}
	runtime.KeepAlive(x)
}

func BenchmarkPage(b *testing.B) {
	x := synthetic(1_000_000)
	forget := func() { x.orders, x.finds = kept.New[[]uint32](maxRecent), kept.New[found](maxRecent) }
	for _, c := range []struct {
		name string
		q    Query
		page func(*Index, Query) (*Page, error)
	}{
		{"trajectories", Query{}, rowsPage},
		{"trajectories-by-reward", Query{Order: Order{"reward", true}}, rowsPage},
		{"trajectories-by-id", Query{Order: Order{"trajectory_id", false}}, rowsPage},
		{"trajectories-by-reward-last", Query{Order: Order{"reward", true}, Page: 10000}, rowsPage},
		{"trajectories-failed", Query{Choices: map[string]string{"status": "failed"}, Order: Order{"sampled_tokens", true}}, rowsPage},
		{"trajectories-where", Query{Where: "reward > 0.5 && sampled_tokens < 4000"}, rowsPage},
		{"trajectories-where-components", Query{Where: "rewards['style'] > 0.5"}, rowsPage},
		{"groups-by-spread", Query{Order: Order{"spread", true}}, groupsPage},
		{"groups-by-id", Query{Order: Order{"group_id", true}}, groupsPage},
		{"groups-where", Query{Where: "spread > 0.5 && failed == 0"}, groupsPage},
	} {
		for _, first := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/first=%v", c.name, first), func(b *testing.B) {
				for b.Loop() {
					if first {
						forget()
					}
					if p, err := c.page(x, c.q); err != nil || p.Total == 0 {
						b.Fatal(p, err)
					}
				}
			})
		}
	}
}

func BenchmarkSynthetic(b *testing.B) {
	for b.Loop() {
		synthetic(1_000_000)
	}
}

func rowsPage(x *Index, q Query) (*Page, error) {
	return x.Trajectories().Page(context.Background(), q)
}
func groupsPage(x *Index, q Query) (*Page, error) { return x.GroupList().Page(context.Background(), q) }

// stored writes a rollout of a million small trajectories, and its groups.
func stored(b *testing.B, root string, groups int) {
	wides, thins := make([][]formats.Trajectory, groups), make([][]formats.Member, groups)
	for g := range groups {
		example := fmt.Sprintf("example-%06d", g)
		for i := range 8 {
			reward, style := float64((g*31+i*7)%100)/100, float64(g*8+i)/float64(groups*8)
			id := formats.TrajectoryID("run", example, 0, i)
			wides[g] = append(wides[g],
				formats.Trajectory{TrajectoryID: id, Run: "run", ExampleID: example, Generation: int32(i), Example: "{}", Status: outcomes.StatusOK,
					StopReason: outcomes.StopDone, Model: "model", PromptTokens: 100, CompletionTokens: int32(g % 4000), SampledTokens: int32(g % 4000),
					Answer: "an answer",
					Messages: []formats.Message{{Parent: -1, Role: "user", Content: "question", Call: -1},
						{Role: "assistant", Content: "an answer", Sampled: true}}, Calls: []formats.Call{{Target: true}}})
			thins[g] = append(thins[g],
				formats.Member{TrajectoryID: id, ExampleID: example, GroupID: formats.GroupID(example, 0), Generation: int32(i), Status: outcomes.StatusOK,
					Reward:  &reward,
					Rewards: []formats.NamedReward{{Name: "exact", Value: &reward, Weight: 1}, {Name: "style", Value: &style, Weight: 1}}, Advantage: &style})
		}
	}
	base := written(b, storage.Join(root, "rollout"), manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, wides, -1, nil)
	ref := base.Ref("base", storage.Join(root, "group"))
	written(b, storage.Join(root, "group"), manifest.Spec{Stage: "group", Kind: schema.KindGroups, Inputs: []manifest.Ref{ref}, Base: &ref}, thins, 0, nil)
}

// BenchmarkBuild builds the index of a million trajectories on disk.
func BenchmarkBuild(b *testing.B) {
	root := b.TempDir()
	stored(b, root, 125_000)
	before := heap()
	for b.Loop() {
		x := built(b, b.Context(), storage.Join(root, "group"))
		b.StopTimer()
		b.ReportMetric(float64(heap()-before)/float64(x.Rows), "B/row")
		runtime.KeepAlive(x)
		b.StartTimer()
	}
}
