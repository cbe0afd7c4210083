package finetune

import (
	"encoding/json"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/chat/trainset"
)

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
