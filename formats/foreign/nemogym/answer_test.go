package nemogym

import (
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// TestAnAnswerEndsWhereItsIDsSay: calls after a message with ids are of the same answer,
// and so are those of an answer whose list of ids is empty.
func TestAnAnswerEndsWhereItsIDsSay(t *testing.T) {
	const (
		said   = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]`
		ids    = `,"prompt_token_ids":[1,2,3],"generation_token_ids":[4,5,6,7],"generation_log_probs":[-1,-1,-1,-1]}`
		later  = `,"prompt_token_ids":[1,2,3,4,5,6,7,8],"generation_token_ids":[9],"generation_log_probs":[-1]}`
		none   = `,"prompt_token_ids":[],"generation_token_ids":[],"generation_log_probs":[]}`
		call   = `{"type":"function_call","call_id":"c","name":"f","arguments":"{}"`
		result = `{"type":"function_call_output","call_id":"c","output":"ok"}`
		think  = `{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]}`
	)
	for name, c := range map[string]struct {
		output string
		want   []int // of each answer: its calls and its ids
	}{
		"the ids are on the message":   {said + ids + "," + call + "}," + result + "," + said + later, []int{1, 4, 0, 1}},
		"the ids are on the call":      {think + "," + said + "}," + call + ids + "," + result + "," + said + later, []int{1, 4, 0, 1}},
		"no ids":                       {said + none + "," + call + "}," + result + "," + said + none, []int{1, 0, 0, 0}},
		"two answers without a result": {said + ids + "," + think + "," + said + later, []int{0, 4, 0, 1}},
		"a call between two with ids":  {said + ids + "," + call + "}," + said + later, []int{1, 4, 0, 1}},
	} {
		row := `{"responses_create_params":{"input":[{"role":"user","content":"q"}]},"response":{"id":"r","output":[` + c.output + `]},"reward":1}`
		p := Importer.Convert(importers.Record{Data: []byte(row)})
		if p.Err != nil {
			t.Fatalf("%s: %v", name, p.Err)
		}
		var got []int
		for _, m := range p.Items[0].Row.Messages {
			if m.Sampled {
				got = append(got, len(m.ToolCalls), len(m.TokenIDs))
			}
			if m.PrefixBreak != "" {
				t.Errorf("%s: a break %q", name, m.PrefixBreak)
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
	}
}

// TestAFailedAttemptKeepsItsReward in the metadata.
func TestAFailedAttemptKeepsItsReward(t *testing.T) {
	p := Importer.Convert(importers.Record{Data: []byte(`{"responses_create_params":{"input":"q"},"response":{"id":"r","output":[]},"reward":1.0}`)})
	if p.Err != nil || p.Items[0].Row.Status != outcomes.StatusFailed || !strings.Contains(p.Items[0].Row.Metadata, `"reward":1.0`) {
		t.Errorf("%v %+v", p.Err, p.Items)
	}
}

// TestToolsOfTheAgent: an agent's tools are only in the response.
func TestToolsOfTheAgent(t *testing.T) {
	for tools, want := range map[string]string{`[]`: "look", `[{"name":"ask","parameters":{}}]`: "ask"} {
		p := Importer.Convert(importers.Record{Data: []byte(`{"responses_create_params":{"input":"q","tools":` + tools + `},"reward":1,"response":{"id":"r",
"tools":[{"type":"function","name":"look","parameters":{}}],"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"A"}]}]}}`)})
		if p.Err != nil || len(p.Items[0].Row.ToolSets) != 1 || !strings.Contains(p.Items[0].Row.ToolSets[0], `"name":"`+want+`"`) {
			t.Errorf("%s: %v %+v", tools, p.Err, p.Items)
		}
	}
}
