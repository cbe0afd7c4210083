package verifiers

import (
	"fmt"
	"testing"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// What the file says of truncation counts; its stop condition only where the
// file is silent. A single-turn environment of 0.1.9 always ends by
// max_turns_reached.
func TestTheFileSaysWhatWasTruncated(t *testing.T) {
	for members, want := range map[string][2]string{
		`"stop_condition":"max_turns_reached","is_truncated":false`: {outcomes.StatusOK, outcomes.StopDone},
		`"stop_condition":"max_turns_reached","is_truncated":true`: {outcomes.StatusTruncated,
			outcomes.StopLength},
		`"stop_condition":"max_turns_reached","is_truncated":null`: {outcomes.StatusTruncated,
			outcomes.StopTurns},
		`"stop_condition":"max_turns_reached"`: {outcomes.StatusTruncated,
			outcomes.StopTurns},
		`"stop_condition":"prompt_too_long","is_truncated":true`: {outcomes.StatusTruncated,
			outcomes.StopLength},
		`"stop_condition":"max_total_completion_tokens_reached","is_truncated":false`: {outcomes.StatusOK, outcomes.StopDone},
		`"stop_condition":"max_total_completion_tokens_reached","is_truncated":true`: {outcomes.StatusTruncated,
			outcomes.StopMaxTokens},
		`"stop_condition":"max_total_completion_tokens_reached"`: {outcomes.StatusTruncated,
			outcomes.StopMaxTokens},
		`"stop_condition":"timeout_reached","is_truncated":false`: {outcomes.StatusTruncated,
			outcomes.StopTimeout},
		`"stop_condition":"no_tools_called","is_truncated":false`: {outcomes.StatusOK, outcomes.StopDone},
		`"stop_condition":null,"is_truncated":true`: {outcomes.StatusTruncated,
			outcomes.StopLength},
		`"is_completed":false,"is_truncated":true`: {outcomes.StatusFailed,
			outcomes.StopError},
	} {
		line := fmt.Sprintf(`{"example_id":1,"prompt":[{"role":"user","content":"2+2?"}],"completion":[{"role":"assistant","content":"4"}],"reward":1.0,%s}`, members)
		p := Importer.Convert(importers.Record{Data: []byte(line)})
		if p.Err != nil {
			t.Fatalf("%s: %v", members, p.Err)
		}
		if row := p.Items[0].Row; row.Status != want[0] || row.StopReason != want[1] {
			t.Errorf("%s: %s, %s; want %s", members, row.Status, row.StopReason, want)
		}
	}
}
