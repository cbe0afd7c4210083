package importers_test

import (
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
)

// A break has the cause reasoning only where the prompt leaves out reasoning: not
// where it is another in an earlier prompt, or leaves out an answer that has none.
func TestCausesOfBreaks(t *testing.T) {
	for _, c := range []struct {
		name   string
		prompt []int32
		cause  string
	}{
		{"all", []int32{1, 2, 7, 8, 9, 3, 4, 5}, ""},
		{"without reasoning", []int32{1, 2, 9, 3, 4, 5}, "reasoning"},
		{"another system message", []int32{6, 2, 7, 8, 9, 3, 4, 5}, "template"},
		{"another end of an answer that did not reason", []int32{1, 2, 7, 8, 9, 3, 4, 6}, "template"},
	} {
		var conversation importers.Conversation
		conversation.Input(formats.Message{Role: "user"})
		conversation.Sampled(formats.Message{Role: "assistant", Reasoning: "hm", PromptDeltaIDs: []int32{1, 2},
			TokenIDs: []int32{7, 8, 9}}, formats.Call{})
		conversation.Input(formats.Message{Role: "user"})
		conversation.Sampled(formats.Message{Role: "assistant", PromptDeltaIDs: []int32{3}, TokenIDs: []int32{4, 5}}, formats.Call{})
		if _, cause := conversation.PromptDelta(c.prompt); cause != c.cause {
			t.Errorf("%s: the cause is %q, not %q", c.name, cause, c.cause)
		}
	}
}
