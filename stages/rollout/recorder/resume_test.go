package recorder_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/tree"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// volatile is what differs when a trajectory is made again.
var volatile = cmpopts.IgnoreFields(formats.Call{}, "Endpoint", "LatencyMS", "Attempts", "Replayed")

// TestEarlierAnswers: an agent that is started again gets the answers of its calls before a moment, and
// the engine is asked for the rest alone. What is recorded is what was recorded.
func TestEarlierAnswers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	replayed := 0
	for i := range 40 {
		b := &harnessed{t: t, did: map[string]int{}}
		b.engine = &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true, Reasoning: i%2 == 0, Script: script}
		b.recorder = record(t, b.engine)
		var kept []recorder.Answered
		want, _ := b.record(i, recorder.Resume{Keep: func(a recorder.Answered) { kept = append(kept, a) }})
		row := formats.Trajectory{Calls: want.Calls, ToolSets: want.ToolSets}
		row.Messages, row.Candidates = tree.SplitAlternatives(slices.Clone(want.Messages), want.Calls)
		stored := slices.DeleteFunc(recorder.AnsweredOf(&row), func(a recorder.Answered) bool { return a.Request == "" })
		single := slices.DeleteFunc(slices.Clone(kept), func(a recorder.Answered) bool { return len(a.Choices) > 1 })
		if d := cmp.Diff(single, stored, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(formats.Message{}, "Parent", "Branch")); d != "" {
			t.Fatalf("of a stored row: %s", d)
		}
		asked := len(b.engine.Asked())
		n := r.IntN(len(kept) + 1)
		if i < 2 {
			n = len(kept)
		}
		got, _ := b.record(i, recorder.Resume{Answered: kept[:n], Strict: true})
		if got.Earlier != n || len(b.engine.Asked())-asked != len(want.Calls)-n || got.Diverged != "" {
			t.Errorf("%d calls of %d: %d were replayed, %d asked, diverged %q", n, len(want.Calls), got.Earlier, len(b.engine.Asked())-asked, got.Diverged)
		}
		got.Earlier = 0
		if d := cmp.Diff(want, got, volatile, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("%d of %d calls: %s", n, len(want.Calls), d)
		}
		replayed += n
	}
	t.Logf("%d calls were replayed", replayed)
}

// TestDivergence: an agent that asks something else goes on with the engine, and the record says
// what it was; if it must not, the trajectory is unfit.
func TestDivergence(t *testing.T) {
	question := []fields{{"role": "user", "content": "q"}}
	asked := append(question, fields{"role": "assistant", "content": "", "tool_calls": []fields{{"id": "c", "type": "function",
		"function": fields{"name": "search", "arguments": "{}"}}}}, fields{"role": "tool", "tool_call_id": "c", "content": "found 1"})
	tool := []fields{{"type": "function", "function": fields{"name": "search"}}}
	first := func() []recorder.Answered {
		e := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true}
		var kept []recorder.Answered
		s := record(t, e).Begin(t.Context(), "t", "g", recorder.Resume{Keep: func(a recorder.Answered) { kept = append(kept, a) }})
		ask(t, s, fields{"temperature": 1, "user": "u", "seed": 1}, question...)
		ask(t, s, fields{"tools": tool}, asked...)
		s.End()
		return kept
	}
	for name, c := range map[string]struct {
		q        fields
		messages []fields
		cause    string
	}{
		"the same":        {fields{"temperature": 1.0, "user": "v", "seed": 2, "metadata": fields{"at": "noon"}}, question, ""},
		"the second":      {fields{"tools": tool}, asked, ""},
		"another text":    {fields{"temperature": 1}, []fields{{"role": "user", "content": "r"}}, recorder.DivergedPrompt},
		"another result":  {fields{"tools": tool}, append(asked[:2:2], fields{"role": "tool", "tool_call_id": "c", "content": "found 2"}), recorder.DivergedTool},
		"other sampling":  {fields{"temperature": 0.5}, question, recorder.DivergedSampling},
		"other tools":     {fields{"temperature": 1, "tools": tool}, question, recorder.DivergedTools},
		"more of another": {fields{"temperature": 1, "top_p": 0.9}, question, recorder.DivergedSampling},
	} {
		for _, strict := range []bool{false, true} {
			e := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true}
			s := record(t, e).Begin(t.Context(), "t", "g", recorder.Resume{Answered: first(), Strict: strict})
			ask(t, s, c.q, c.messages...)
			rec := s.End()
			if rec.Diverged != c.cause || (len(e.Asked()) == 0) != (c.cause == "" || strict) || (rec.Untrainable != nil) != (strict && c.cause != "") {
				t.Errorf("%s, strict %v: diverged %q, asked %d times, unfit %v", name, strict, rec.Diverged, len(e.Asked()), rec.Untrainable)
			}
			if rec.Untrainable != nil && (rec.Untrainable.Class != outcomes.FailDiverged || !strings.Contains(fmt.Sprint(rec.Untrainable.Text), c.cause)) {
				t.Errorf("%s: %+v", name, rec.Untrainable)
			}
		}
	}
}
