package score_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

func TestAFieldThatNoRowHasIsAnErrorOfTheReward(t *testing.T) {
	in := "mem://missing-all/rollout"
	base(t, in, trajectories())
	for i, reward := range []string{"a=expr:example.gold == answer", "a=match:exact,field=gold", "a=expr:metadata.gold == answer"} {
		out := "mem://missing-all/" + stringOf(i)
		_, err := score.Run(t.Context(), options(t, in, out, "one=expr:1", reward))
		var e *fault.Error
		if !errors.As(err, &e) || e.Kind != fault.Usage || !strings.Contains(err.Error(), `no field "gold" (it has `) ||
			!strings.Contains(err.Error(), `reward "a"`) || fault.HintOf(e) == "" {
			t.Errorf("%s: %v", reward, err)
		}
		b, err := storage.Open(t.Context(), out)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Read(t.Context(), "_dataset.json"); err == nil {
			t.Errorf("%s: there is a dataset", reward)
		}
	}
}

func TestARowWithoutAFieldFailsAlone(t *testing.T) {
	in, out := "mem://missing-one/rollout", "mem://missing-one/score"
	wide := trajectories()
	for i := range wide {
		if i%2 == 0 {
			wide[i].Example = `{"id":"x","gold":"y"}`
		}
	}
	base(t, in, wide)
	run(t, options(t, in, out, "a=expr:example.gold == answer"))
	got, _ := rows(t, out)
	for i, s := range got {
		if !score.Scorable(s.Status) {
			continue
		}
		if want := map[bool]string{false: outcomes.RewardMissing}[i%2 == 0]; s.Failure != want {
			t.Errorf("row %d failed with %q (%s), want %q", i, s.Failure, s.Error, want)
		}
	}
}

func TestRequestsHoldWhatExpressionsRead(t *testing.T) {
	row := trajectories()[0]
	row.Metadata, row.ToolSets, row.Generation, row.Epoch = `{"level":3}`, []string{`[{"type":"function"}]`}, 2, 5
	request, err := score.NewRequest(&score.Row{Trajectory: &row}, "r", 1)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"metadata":{"level":3}`, `"tool_sets":[[{"type":"function"}]]`, `"generation":2`, `"epoch":5`,
		`"example_id":"` + row.ExampleID + `"`, `"model":`, `"prompt_tokens":`, `"completion_tokens":`, `"sampled_tokens":`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the request has no %s", want)
		}
	}
	row.Metadata, row.ToolSets = "", nil
	if request, err = score.NewRequest(&score.Row{Trajectory: &row}, "r", 1); err != nil || string(request.Metadata) != "{}" || request.ToolSets == nil {
		t.Errorf("%v, metadata %s, tool sets %v", err, request.Metadata, request.ToolSets)
	}
	row.Metadata = "{"
	if _, err := score.NewRequest(&score.Row{Trajectory: &row}, "r", 1); err == nil {
		t.Error("metadata that is not JSON is sent")
	}
}

// A shard may hold no row with the field while others do: only when none of the
// dataset has it, the dataset is refused.
func TestAFieldThatNoShardHasIsAGate(t *testing.T) {
	in := "mem://missing-sharded/rollout"
	wide := trajectories()
	for i := range wide[:len(wide)/2] {
		wide[i].Example = `{"id":"x","gold":"y"}`
	}
	base(t, in, wide)
	for _, c := range []struct {
		field   string
		refused bool
	}{{"gold", false}, {"silver", true}} {
		out := "mem://missing-sharded/" + c.field
		var last error
		maxRate := 1.0
		for i := range 3 {
			o := options(t, in, out, "one=expr:1", "a=expr:example."+c.field+" == answer")
			o.MaxFailureRate, o.Out.Shard = &maxRate, stages.Shard{Index: i, Count: 3}
			if last != nil {
				t.Fatalf("%s: shard %d of 3 fails: %v", c.field, i-1, last)
			}
			_, last = score.Run(t.Context(), o)
		}
		var gate *manifest.GateError
		if c.refused != errors.As(last, &gate) || !c.refused && last != nil {
			t.Fatalf("%s: %v", c.field, last)
		}
		if c.refused && (len(gate.Gates) != 1 || gate.Gates[0].Name != "missing-field" || !strings.Contains(last.Error(), "rewards.a.missing")) {
			t.Errorf("%v", last)
		}
	}
}
