package finetune

import (
	"bytes"
	"encoding/json"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
)

// Conversation is a row of supervised training: every assistant message in it
// is trained on.
type Conversation struct {
	Messages []chat.Message  `json:"messages"`
	Tools    json.RawMessage `json:"tools,omitempty"`
}

// ConversationOf returns the row of a group's best member.
func ConversationOf(rows []formats.Trajectory) (c Conversation, reason string) {
	best, reason := chat.Best(rows)
	if reason != "" {
		return c, reason
	}
	if reason = chat.Unheld(chat.HoldsTools|chat.HoldsName, best.Messages); reason != "" {
		return c, reason
	}
	for _, m := range best.Messages {
		if m.Content == "" && len(m.ToolCalls) == 0 {
			return c, Blank
		}
	}
	var tools bytes.Buffer
	if best.Tools != "" && json.Compact(&tools, []byte(best.Tools)) != nil {
		return c, Tools
	}
	return Conversation{Messages: best.Messages, Tools: tools.Bytes()}, ""
}

// Asks reports whether an assistant can answer a prompt: the prompt is not
// empty, no message in it is empty, and the last message is the user's.
func (p CustomizerPreference) Asks() bool {
	for _, m := range p.Prompt {
		if m.Content == "" {
			return false
		}
	}
	return len(p.Prompt) > 0 && p.Prompt[len(p.Prompt)-1].Role == "user"
}
