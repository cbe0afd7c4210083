package replay_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/agents/agenttest"
	"github.com/rollmill/rollmill/stages/rollout/agents/chat"
	"github.com/rollmill/rollmill/stages/rollout/agents/replay"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// record makes a dataset of three examples, of which one fails.
func record(t *testing.T) (uri string, o rollout.Options) {
	t.Helper()
	e := (&recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true, Fault: func(_ int, q recordertest.Request) recordertest.Fault {
		if q.Messages[0].Content == "what is 2?" {
			return recordertest.Fault{Status: 400}
		}
		return recordertest.Fault{}
	}}).Start(t)
	agent, err := (&chat.Settings{}).Agent(t.Context(), agents.Setup{Client: openai.Client{}})
	if err != nil {
		t.Fatal(err)
	}
	set := agenttest.Examples{agenttest.Example(0), agenttest.Example(1), agenttest.Example(2)}
	o = rollout.Options{
		Out: stages.Output{URI: filepath.Join(t.TempDir(), "out")}, Run: "first", Generations: 2, Agent: agent, Model: "policy",
		Examples:  set,
		Endpoints: []string{e.URL()}, Backoff: time.Millisecond,
	}
	if _, err := rollout.Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	return o.Out.URI, o
}

func newAgent(t *testing.T, uri string) agents.Agent {
	t.Helper()
	return made(t, uri, agents.Setup{})
}

func made(t *testing.T, uri string, set agents.Setup) agents.Agent {
	t.Helper()
	a, err := settings(uri).Agent(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func settings(words ...string) *replay.Settings {
	return &replay.Settings{Arguments: agents.Arguments{Words: words}}
}

func TestContract(t *testing.T) {
	uri, _ := record(t)
	agenttest.RunStored(t, replay.Kind, func(t *testing.T) agents.Agent { return newAgent(t, uri) })
}

func rows(t *testing.T, uri string) []formats.Trajectory {
	t.Helper()
	d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{Kind: schema.KindTrajectories, AcceptGates: []string{"max-failure-rate"}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := dataset.ReadAll[formats.Trajectory](t.Context(), d, "", d.All())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestReplayIsTheSameRowsUnderNewIds, without an engine or a model; what is
// not stored fails by name.
func TestReplayIsTheSameRowsUnderNewIds(t *testing.T) {
	uri, o := record(t)
	o.Out.URI, o.Run, o.Epoch, o.Generations = filepath.Join(t.TempDir(), "again"), "second", new(4), 3
	maxRate := 1.0
	o.Agent, o.Model, o.Endpoints, o.MaxFailureRate = newAgent(t, uri), "", nil, &maxRate
	if _, err := rollout.Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	was, is := rows(t, uri), rows(t, o.Out.URI)
	if len(was) != 6 || len(is) != 9 {
		t.Fatalf("%d rows became %d", len(was), len(is))
	}
	for i, row := range is {
		if row.TrajectoryID != formats.TrajectoryID("second", row.ExampleID, 4, int(row.Generation)) || row.Run != "second" || row.Epoch != 4 {
			t.Errorf("row %d has the ids %s %s %d", i, row.TrajectoryID, row.Run, row.Epoch)
		}
		if row.Generation == 2 {
			if row.Status != outcomes.StatusFailed || row.FailureClass != outcomes.FailExample || !strings.Contains(row.Error, "generation 2") {
				t.Errorf("row %d: %s %s %s", i, row.Status, row.FailureClass, row.Error)
			}
			continue
		}
		old := was[i-i/3]
		ids := cmpopts.IgnoreFields(formats.Trajectory{}, "TrajectoryID", "Run", "Epoch", "StartedAt", "FinishedAt", "Attempts")
		if d := cmp.Diff(old, row, ids); d != "" {
			t.Errorf("row %d: %s", i, d)
		}
	}
}

// TestOtherTargets: a replay trains on the calls that it is told to.
func TestOtherTargets(t *testing.T) {
	uri, o := record(t)
	maxRate := 1.0
	o.Model, o.Endpoints, o.MaxFailureRate = "", nil, &maxRate
	again := func(c agents.Setup) map[string]int {
		t.Helper()
		o.Agent, o.Out.URI, o.TargetModel, o.Functions = made(t, uri, c), filepath.Join(t.TempDir(), "again"), c.TargetModel, c.Functions
		if _, err := rollout.Run(context.Background(), o); err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for i, row := range rows(t, o.Out.URI) {
			got[row.Status+" "+row.FailureClass]++
			if sampled := row.SampledTokens > 0; sampled != (row.Status == outcomes.StatusOK) || len(row.Messages) == 0 {
				t.Errorf("row %d: %s with %d sampled tokens", i, row.Status, row.SampledTokens)
			}
			for _, p := range validate.Trajectory(&row) {
				t.Errorf("row %d: %v", i, p)
			}
		}
		return got
	}
	kept := map[string]int{"ok ": 4, "failed engine_refused": 2}
	none := map[string]int{"failed no_calls": 4, "failed engine_refused": 2}
	for _, c := range []struct {
		setup agents.Setup
		want  map[string]int
	}{
		{agents.Setup{Model: "next"}, kept}, // what is asked for is no target
		{agents.Setup{TargetModel: "policy"}, kept},
		{agents.Setup{TargetModel: "judge"}, none},
		{agents.Setup{Functions: []string{"act"}}, none},
	} {
		if diff := cmp.Diff(c.want, again(c.setup)); diff != "" {
			t.Errorf("%+v: %s", c.setup, diff)
		}
	}
	o.Model = "judge"
	ids := map[string]bool{}
	for _, target := range []string{"", "judge"} { // the model that is asked for may be the target, or nothing
		a := made(t, uri, agents.Setup{Model: o.Model, TargetModel: target})
		o.Agent, o.TargetModel, o.Functions, o.Out.URI = a, target, nil, filepath.Join(t.TempDir(), "model")
		report, err := rollout.Run(context.Background(), o)
		if ids[report.Identity] = true; err != nil {
			t.Fatal(err)
		}
	}
	if len(ids) != 2 {
		t.Errorf("other targets are no other dataset: %v", ids)
	}
}

// TestAimedAtAnotherModel: at calls that were recorded with log probabilities,
// and at ones without.
func TestAimedAtAnotherModel(t *testing.T) {
	uri := filepath.Join(t.TempDir(), "stored")
	s, err := shards.Begin(t.Context(), uri, manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories}, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	row := formats.Trajectory{TrajectoryID: "t", ExampleID: "ex-1", Example: "{}", Status: outcomes.StatusOK, StopReason: outcomes.StopDone, Model: "policy",
		SampledTokens: 2,
		Calls: []formats.Call{{Model: "policy", Function: "act", Tools: -1, Target: true}, {Model: "judge", Function: "weigh", Tools: -1},
			{Model: "policy", Function: "plan", Tools: -1}},
		Messages: []formats.Message{{Parent: -1, Role: "user", Content: "q", Call: -1},
			{Parent: 0, Role: "assistant", Content: "a", Sampled: true, Call: 0, TokenIDs: []int32{1, 2}, Logprobs: []float32{-1, -2}},
			{Parent: 0, Role: "assistant", Content: "b", Sampled: true, Call: 1},
			{Parent: 0, Role: "assistant", Content: "c", Sampled: true, Call: 2, TokenIDs: []int32{3}, Logprobs: []float32{-3}}}}
	row.SetPayloadDigest()
	if err := shards.NewTable[formats.Trajectory](s, "", -1).Write(t.Context(), []formats.Trajectory{row}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), shards.Outcome{}); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]agents.Setup{
		"ok  policy 2":               {},
		"ok  policy 3":               {TargetModel: "policy"},
		"ok  policy 1":               {Functions: []string{"plan"}},
		"failed no_logprobs judge 0": {TargetModel: "judge"},
		"ok  judge 0":                {TargetModel: "judge", NoLogprobs: true},
		"failed no_calls policy 0":   {Functions: []string{"weigh"}},
	} {
		got, err := made(t, uri, c).Describe().Stored(t.Context(), agents.Attempt{Example: agenttest.Example(1)})
		if is := fmt.Sprint(got.Status, " ", got.FailureClass, " ", got.Model, " ", got.SampledTokens); err != nil || is != want {
			t.Errorf("%+v: %s, %v, want %s", c, is, err, want)
		}
	}
}

func TestBadConfigIsRefused(t *testing.T) {
	if _, err := settings().Agent(t.Context(), agents.Setup{}); err == nil {
		t.Error("no dataset is good enough")
	}
	if _, err := settings(t.TempDir()).Agent(t.Context(), agents.Setup{}); err == nil {
		t.Error("an empty folder is a dataset")
	}
}
