package nat

import (
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/stages/rollout/agents/nat/nattest"
)

// Whatever a server sends, the row that comes of it is a valid one.
func FuzzStream(f *testing.F) {
	payload := map[string]any{"data": map[string]any{"input": []any{map[string]any{"type": "human", "content": "x"}},
		"payload": map[string]any{"message": map[string]any{"type": "ai", "content": "y"},
			"logprobs": map[string]any{"content": []any{map[string]any{"token": "token_id:1", "logprob": -1}}}}}}
	f.Add(strings.Join([]string{nattest.Step("LLM_START", "a", "a", "m", "adk", 1, payload), nattest.Step("LLM_END", "a", "b", "m", "adk", 2, payload),
		nattest.Step("TTC_END", "c", "a", "n", "", 1, payload), nattest.Value("z"), `{"code":"x","message":"y"}`}, "\n\n"))
	f.Add("event: error\ndata: {\"code\":1}\n\ndata: {\"value\": NaN}\n")
	f.Add("intermediate_data: {\"payload\":\"{\\\"event_timestamp\\\":Infinity}\"}\r\n\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, broken := readStream(strings.NewReader(text))
		a := &agent{}
		row := a.row(s, broken)
		row.TrajectoryID, row.ExampleID, row.Example, row.Run = "t", "e", "{}", "r"
		if row.Status == outcomes.StatusFailed && (row.FailureClass == "" || row.Error == "") {
			t.Errorf("failed without a reason: %+v", row)
		}
		row.SetPayloadDigest()
		for _, p := range validate.Trajectory(&row) {
			t.Errorf("invalid: %s\n%q", p, text)
		}
	})
}
