package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/storage"
)

// TestWhatIsOfMessages: explain shows the signals of scores, and what group made of them; show
// has them beside the message.
func TestWhatIsOfMessages(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	reward, advantage := 1.0, 0.5
	row := formats.Trajectory{TrajectoryID: "t", ExampleID: "e", Run: "run", Example: "{}", Status: outcomes.StatusOK, StopReason: outcomes.StopDone,
		Calls: []formats.Call{{Target: true, Tools: -1}}, Messages: []formats.Message{{Parent: -1, Role: "user", Content: "q", Call: -1},
			{Parent: 0, Role: "assistant", Content: "a", Sampled: true, TokenIDs: []int32{1, 2}, Logprobs: []float32{-1, -1}},
			{Parent: 1, Role: "assistant", Content: "b", Sampled: true, TokenIDs: []int32{3}, Logprobs: []float32{-1}}}}
	base := written(t, storage.Join(root, "rollout"), manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, [][]formats.Trajectory{{row}}, -1)
	thin := func(name string, kind schema.Kind) (string, manifest.Spec) {
		uri := storage.Join(root, name)
		ref := base.Ref("base", uri)
		return uri, manifest.Spec{Stage: name, Kind: kind, Inputs: []manifest.Ref{ref}, Base: &ref}
	}
	uri, spec := thin("score", schema.KindScores)
	scored := written(t, uri, spec, [][]formats.Score{{{TrajectoryID: "t", ExampleID: "e", Status: outcomes.StatusOK, Reward: &reward,
		Signals: []formats.Signal{{Message: 1, Component: "quality", Value: 0.25}, {Message: 2, Component: "teacher", Value: -1.5, Values: []float32{-1, -2}}}}}}, 0)
	uri, spec = thin("group", schema.KindGroups)
	shard, err := shards.Begin(t.Context(), uri, spec, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	members := []formats.Member{{TrajectoryID: "t", ExampleID: "e", GroupID: "e@0", Status: outcomes.StatusOK, Reward: &reward, Advantage: &advantage,
		Advantages: []training.MessageAdvantage{{Message: 1, Value: -0.25, Tokens: []float32{0, -0.5}}},
		Losses:     []training.MessageLoss{{Message: 2, Loss: training.LossCE, Weight: 0.1}}}}
	err = errors.Join(shards.NewTable[formats.Member](shard, "", 0).Write(t.Context(), members),
		shards.NewTable[formats.GroupStats](shard, schema.TableGroups, -1).Write(t.Context(), []formats.GroupStats{{GroupID: "e@0", ExampleID: "e"}}))
	if err == nil {
		_, err = shard.Commit(t.Context(), shards.Outcome{})
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := Explain(t.Context(), root, "t")
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := s.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"          message 1: quality 0.25\n          message 2: teacher -1.5, the mean of 2 tokens\n",
		"          advantage 0.5\n          message 1: advantage -0.25, the mean of 2 tokens\n          message 2: weight in the loss ce 0.1\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	asJSON, err := json.Marshal(s)
	for _, want := range []string{`"signals":[{"message":1,"name":"quality","value":0.25},{"message":2,"name":"teacher","value":-1.5,"tokens":2}]`,
		`"messages":[{"message":1,"name":"advantage","value":-0.25,"tokens":2},{"message":2,"name":"weight in the loss ce","value":0.1}]`} {
		if err != nil || !strings.Contains(string(asJSON), want) {
			t.Errorf("%v, no %s in %s", err, want, asJSON)
		}
	}
	c, err := Converse(t.Context(), scored.URI(), "t")
	if err != nil {
		t.Fatal(err)
	}
	if shown := textOf(t, c, false, false); !strings.Contains(shown, "call 0, quality 0.25, trains") || !strings.Contains(shown, "call 0, teacher -1.5, trains") {
		t.Error(shown)
	}
}

// TestDiffOfSignals: of messages that have the component on both sides.
func TestDiffOfSignals(t *testing.T) {
	base := rollouts(t, "mem://diff-signals/rollout", 1)
	signals := func(name string, of ...[]formats.Signal) string {
		uri := "mem://diff-signals/" + name
		var rows []formats.Score
		for k := range of {
			rows = append(rows, formats.Score{TrajectoryID: formats.TrajectoryID("run", "example-0", 0, k), ExampleID: "example-0", Generation: int32(k),
				Status: outcomes.StatusOK, Reward: new(float64), Signals: of[k]})
		}
		ref := base.Ref("base", uri)
		written(t, uri, manifest.Spec{Stage: "score", Version: 1, Kind: schema.KindScores, Params: map[string]any{"uri": uri}, Inputs: []manifest.Ref{ref},
			Base: &ref}, [][]formats.Score{rows}, 0)
		return uri
	}
	a := signals("a", []formats.Signal{{Message: 1, Component: "x", Value: 1}, {Message: 3, Component: "x", Value: 2}, {Message: 1, Component: "y", Value: 5}}, nil,
		[]formats.Signal{{Message: 1, Component: "x", Value: 4}}, []formats.Signal{{Message: 1, Component: "only a", Value: 4}})
	b := signals("b", []formats.Signal{{Message: 3, Component: "x", Value: 2}, {Message: 1, Component: "x", Value: 4}, {Message: 3, Component: "y", Value: 5}},
		[]formats.Signal{{Message: 1, Component: "x", Value: 9}}, []formats.Signal{{Message: 1, Component: "x", Value: 1, Values: []float32{1}}}, nil)
	d, err := Diff(t.Context(), DiffOptions{A: a, B: b})
	if err != nil || len(d.Signals) != 1 || d.Signals[0] != (SignalChange{Component: "x", Messages: 3, Moved: 2, MeanChange: 0}) {
		t.Fatalf("%v %+v", err, d)
	}
	d, err = Diff(t.Context(), DiffOptions{A: a, B: signals("c", []formats.Signal{{Message: 1, Component: "x", Value: 2}}, nil, nil, nil)})
	var text bytes.Buffer
	if err == nil {
		err = d.WriteText(&text)
	}
	if err != nil || !strings.Contains(text.String(), "1 of 1 messages moved, mean change +1\n") {
		t.Errorf("%v\n%s", err, &text)
	}
}
