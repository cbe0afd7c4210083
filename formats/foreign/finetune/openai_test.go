package finetune

import (
	"encoding/json"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat/trainset"
)

func given(parent int32, role, text string) formats.Message {
	return formats.Message{Parent: parent, Role: role, Content: text, Call: -1}
}

func says(parent int32, text string) formats.Message {
	return formats.Message{Parent: parent, Role: "assistant", Content: text, Sampled: true, Call: 0}
}

func attempt(reward float64, messages ...formats.Message) formats.Trajectory {
	return formats.Trajectory{Reward: &reward, Example: `{"id":"e","answer":4,"tools":["x"],"hard":true}`,
		Messages: messages,
		ToolSets: []string{"[\n{\"type\":\"function\"}]"}, Calls: []formats.Call{{Target: true, Tools: 0}}}
}

func text(t *testing.T, row any) string {
	t.Helper()
	data, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestOnlySampledMessagesHaveWeight(t *testing.T) {
	asks := says(2, "")
	asks.ToolCalls = []formats.ToolCall{{ID: "c1", Name: "search", Arguments: `{"q":1}`}}
	result := given(3, "tool", "4")
	result.ToolCallID = "c1"
	row, reason := SupervisedOf([]formats.Trajectory{attempt(0, given(-1, "user", "q"), says(0, "worse")),
		attempt(1, given(-1, "user", "q"), given(0, "assistant", "an example"), given(1, "user", "again"), asks, result,
			says(4, "four"), given(5, "user", "thanks"))})
	want := `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"an example","weight":0},{"role":"user","content":"again"},` +
		`{"role":"assistant","content":null,"tool_calls":[{"type":"function","id":"c1","function":{"name":"search","arguments":"{\"q\":1}"}}],"weight":1},` +
		`{"role":"tool","content":"4","tool_call_id":"c1"},{"role":"assistant","content":"four","weight":1}],"tools":[{"type":"function"}]}`
	if got := text(t, row); reason != "" || got != want {
		t.Errorf("%q\n%s\n%s", reason, got, want)
	}
}

func TestReasonsOfSkippedGroups(t *testing.T) {
	orphan := given(0, "tool", "4")
	orphan.ToolCallID = "c9"
	supervised := func(rows ...formats.Trajectory) string { _, r := SupervisedOf(rows); return r }
	preference := func(rows ...formats.Trajectory) string {
		pair, reason := trainset.Pair(rows)
		if reason == "" {
			_, reason = OpenAIPreferenceOf(pair)
		}
		return reason
	}
	system := given(-1, "system", "s")
	user := given(-1, "user", "q")
	for want, got := range map[string]string{
		OpenAISame:        preference(attempt(1, user, says(0, "a")), attempt(0, user, says(0, "a"))),
		trainset.Tie:      preference(attempt(1, user, says(0, "a")), attempt(1, user, says(0, "b"))),
		BlankText:         supervised(attempt(1, user, says(0, ""))),
		ToolOrder:         supervised(attempt(1, user, orphan, says(1, "a"))),
		trainset.Branches: supervised(attempt(1, user, says(0, "a"), given(-1, "user", "r"), says(2, "b"))),
		trainset.Empty:    supervised(attempt(1, user)),
		LastRole:          preference(attempt(1, system, says(0, "a")), attempt(0, system, says(0, "b"))),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestImages: no service gets a row that says less than the policy saw.
func TestImages(t *testing.T) {
	good, bad := 1.0, 0.0
	row := func(reward *float64, answer string) formats.Trajectory {
		return formats.Trajectory{Reward: reward, Calls: []formats.Call{{Target: true, Tools: -1}},
			Messages: []formats.Message{
				{Parent: -1, Role: "user", Call: -1,
					ContentParts: `[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"u"}}]`},
				{Parent: 0, Role: "assistant", Content: answer, Sampled: true},
			}}
	}
	rows := []formats.Trajectory{row(&good, "a"), row(&bad, "b")}
	_, supervised := SupervisedOf(rows)
	_, preference := trainset.Pair(rows)
	if supervised != trainset.Parts || preference != trainset.Parts {
		t.Errorf("%q, %q", supervised, preference)
	}
}
