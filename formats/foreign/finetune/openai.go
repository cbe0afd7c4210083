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
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/chat/trainset"
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

// Supervised is a conversation; messages that the policy sampled have weight 1.
type Supervised struct {
	Messages []OpenAIMessage `json:"messages"`
	Tools    json.RawMessage `json:"tools,omitempty"`
}

// SupervisedOf returns the row of a group's best member.
func SupervisedOf(rows []formats.Trajectory) (s Supervised, reason string) {
	best := trainset.Top(rows, 1)
	if best == nil {
		return s, trainset.NoScore(rows)
	}
	t := &rows[best[0]]
	path := t.Main()
	for len(path) > 0 && !t.Trained(path[len(path)-1]) {
		path = path[:len(path)-1]
	}
	for i := range t.Messages {
		if t.Trained(i) && !slices.Contains(path, i) {
			return s, trainset.Branches
		}
	}
	for _, i := range path {
		m := &t.Messages[i]
		if reason := chat.Unheld(openAIHolds, []chat.Message{{Reasoning: m.Reasoning}}); reason != "" {
			return s, reason
		}
		if !chat.IsText(m) {
			return s, trainset.Parts
		}
		content, _ := chat.Text(m)
		out := OpenAIMessage{Role: m.Role, Name: m.Name, ToolCallID: m.ToolCallID, ToolCalls: chat.ToolCalls(m.ToolCalls)}
		if content != "" || len(m.ToolCalls) == 0 {
			out.Content = &content
		}
		if m.Role == "assistant" {
			weight := 0
			if t.Trained(i) {
				weight = 1
			}
			out.Weight = &weight
		}
		s.Messages = append(s.Messages, out)
	}
	if n := t.Calls[t.Messages[path[len(path)-1]].Call].Tools; n >= 0 && int(n) < len(t.ToolSets) {
		s.Tools = compact(t.ToolSets[n])
	}
	return s, sound(s.Messages)
}
