package outcomes

import "testing"

// Every reason that is not listed is a failure: when an engine adds a new
// reason for ending an answer early, the answer does not count as complete.
func TestFinishReasonsAreAClosedList(t *testing.T) {
	for reason, want := range map[string]string{
		"stop": FinishEnded, "tool_calls": FinishEnded, "function_call": FinishEnded, "end_turn": FinishEnded, "STOP": FinishEnded, "eos_token": FinishEnded,
		"length": FinishTruncated, "max_tokens": FinishTruncated, "max_output_tokens": FinishTruncated, "repetition": FinishTruncated,
		"abort": FinishFailed, "error": FinishFailed, "cancelled": FinishFailed, "content_filter": FinishFailed, "": FinishFailed, "null": FinishFailed,
		"something new": FinishFailed,
	} {
		if got := Finish(reason, nil); got != want {
			t.Errorf("%q is %s, want %s", reason, got, want)
		}
	}
	if Finish("content_filter", []string{"Content_Filter"}) != FinishEnded || Finish("", []string{"null"}) != FinishEnded ||
		Finish("abort", []string{"error"}) != FinishFailed {
		t.Error("only a reason that is accepted by name counts as ended")
	}
}
