package finetune

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/chat/trainset"
)

// OpenAIPreference is a pair of answers, one message each.
type OpenAIPreference struct {
	Input        Supervised      `json:"input"`
	Preferred    []OpenAIMessage `json:"preferred_output"`
	NonPreferred []OpenAIMessage `json:"non_preferred_output"`
}

// OpenAIPreferenceOf converts a row of package formats/chat to this format.
func OpenAIPreferenceOf(pair trainset.Preference) (p OpenAIPreference, reason string) {
	p = OpenAIPreference{Input: Supervised{Messages: convert(pair.Prompt), Tools: compact(pair.Tools)},
		Preferred: convert(pair.Chosen), NonPreferred: convert(pair.Rejected)}
	if reason = chat.Unheld(openAIHolds, pair.Prompt, pair.Chosen, pair.Rejected); reason != "" {
		return p, reason
	}
	one, _ := json.Marshal(p.Preferred)
	two, _ := json.Marshal(p.NonPreferred)
	if bytes.Equal(one, two) {
		return p, OpenAISame
	}
	if reason = sound(append(slices.Clone(p.Input.Messages), p.Preferred...)); reason == "" {
		reason = sound(append(slices.Clone(p.Input.Messages), p.NonPreferred...))
	}
	if n := len(p.Input.Messages); reason == "" && (n == 0 || !slices.Contains([]string{"user", "tool"}, p.Input.Messages[n-1].Role)) {
		reason = LastRole
	}
	return p, reason
}

func convert(messages []chat.Message) []OpenAIMessage {
	var out []OpenAIMessage
	for _, m := range messages {
		c := OpenAIMessage{Role: m.Role, Name: m.Name, ToolCallID: m.ToolCallID, ToolCalls: m.ToolCalls}
		if m.Content != "" || len(m.ToolCalls) == 0 {
			c.Content = &m.Content
		}
		out = append(out, c)
	}
	return out
}
