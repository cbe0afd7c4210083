package ruletest

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/curate"
)

func batch(t *rapid.T, groups []curate.Group) curate.Batch {
	return curate.Batch{
		Epoch: rapid.IntRange(0, 30).Draw(t, "epoch"),
		Seed:  rapid.Int64().Draw(t, "seed"),
		Total: len(groups),
	}
}

// groups draws up to a dozen groups with many ties, some without valid members.
func groups(t *rapid.T) []curate.Group {
	out := make([]curate.Group, rapid.IntRange(0, 12).Draw(t, "groups"))
	row := int64(0)
	for i := range out {
		n := rapid.IntRange(1, 6).Draw(t, "members")
		g := curate.Group{ID: fmt.Sprintf("e%d@3", i), ExampleID: fmt.Sprintf("e%d", i/2), FirstRow: row, Count: n,
			Valid: rapid.IntRange(0, n).Draw(t, "valid")}
		if g.Valid > 0 {
			a := float64(rapid.IntRange(0, 8).Draw(t, "a")) / 8
			b := float64(rapid.IntRange(0, 8).Draw(t, "b")) / 8
			g.Min, g.Max, g.Mean = min(a, b), max(a, b), (a+b)/2
			g.Solved = float64(rapid.IntRange(0, g.Valid).Draw(t, "solved")) / float64(g.Valid)
		}
		if g.Valid == 1 {
			g.Min, g.Max = g.Mean, g.Mean
		}
		out[i] = g
		row += int64(n)
	}
	return out
}

func trajectory(t *rapid.T, m formats.Member) formats.Trajectory {
	out := formats.Trajectory{
		TrajectoryID: m.TrajectoryID, ExampleID: m.ExampleID, Generation: m.Generation, Status: m.Status,
		StopReason: outcomes.StopDone,
		Example:    rapid.SampledFrom([]string{"{}", `{"id":"e","question":"q"}`, "no object"}).Draw(t, "example"),
		Calls: []formats.Call{{Model: "m",
			Sampling: rapid.SampledFrom([]string{"{}", `{"temperature":0.5}`, "no object"}).Draw(t, "sampling"), Tools: -1,
			Target: true}},
	}
	if rapid.Bool().Draw(t, "version known") {
		v := rapid.Int64Range(0, 9).Draw(t, "version")
		out.PolicyVersion, out.Calls[0].PolicyVersion = &v, &v
	}
	k := rapid.IntRange(0, 3).Draw(t, "tokens")
	sampled := formats.Message{Role: "assistant", Content: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "content"),
		Sampled:  true,
		TokenIDs: make([]int32, k), Logprobs: make([]float32, rapid.IntRange(0, 3).Draw(t, "logprobs"))}
	out.Messages = []formats.Message{{Parent: -1, Role: "user", Content: "go", Call: -1}, sampled}[rapid.IntRange(0, 1).
		Draw(t, "root"):]
	if len(out.Messages) == 1 {
		out.Messages[0].Parent = -1
	}
	out.SampledTokens, out.Calls[0].CompletionTokens = int32(k), int32(k)
	return out
}
