// Package finetune writes the JSON lines of fine-tuning services: NeMo Customizer's
// (CustomizerDPO, CustomizerSFT), and OpenAI's: supervised conversations and
// preferences (DPO). The services refuse unknown keys, so there are no additional
// ones. OpenAI's lines are not a format of formats/foreign, because only backend
// openai sends them.
//
// A group gives its best conversation; preferences are made from those of package
// formats/chat.
package finetune

import (
	"bytes"
	"encoding/json"

	"github.com/rollmill/rollmill/formats/chat"
)

// OpenAIMessage is a chat message. Content is null when there are tool calls and no text.
type OpenAIMessage struct {
	Role       string          `json:"role"`
	Content    *string         `json:"content"`
	Name       string          `json:"name,omitempty"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
	ToolCalls  []chat.ToolCall `json:"tool_calls,omitempty"`
	Weight     *int            `json:"weight,omitempty"` // of an assistant message: 0 means context
}

// Why a group gives no row, in addition to those of package formats/chat.
const (
	OpenAISame = "same"       // the two answers are equal
	LastRole   = "last_role"  // the prompt does not end with a user or tool message
	BlankText  = "blank_text" // a message without text or tool calls
	ToolOrder  = "tool_order" // a tool message that answers no earlier call
)

// openAIHolds are the fields that the service's messages have a place for.
const openAIHolds = chat.HoldsName | chat.HoldsTools

// sound returns the reason for which every service would refuse the messages, "" if there is none.
func sound(messages []OpenAIMessage) string {
	calls := map[string]bool{}
	for _, m := range messages {
		if (m.Content == nil || *m.Content == "") && len(m.ToolCalls) == 0 && m.Role != "tool" {
			return BlankText
		}
		if m.Role == "tool" && !calls[m.ToolCallID] {
			return ToolOrder
		}
		for _, c := range m.ToolCalls {
			calls[c.ID] = true
		}
	}
	return ""
}

// compact returns a JSON array on one line; nil when it is empty.
func compact(text string) json.RawMessage {
	var out bytes.Buffer
	if text == "" || json.Compact(&out, []byte(text)) != nil || out.String() == "[]" {
		return nil
	}
	return out.Bytes()
}
