// Package customizer writes the JSON lines that NeMo Customizer trains DPO on:
// a prompt, and one chosen and one rejected answer as text.
package customizer

import "github.com/rollmill/rollmill/formats/trl"

// Preference is one pair.
type Preference struct {
	Prompt   []Message `json:"prompt"`
	Chosen   string    `json:"chosen_response"`
	Rejected string    `json:"rejected_response"`
}

// Message is a chat message; there is no room for tools.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Why a pair cannot be written in this format.
const (
	Tools = "tools" // tool calls or tool messages
	Blank = "blank" // an answer without text
	Same  = "same"  // the two answers are equal
)

// PreferenceOf converts TRL's row to this format.
func PreferenceOf(pair trl.Preference) (p Preference, reason string) {
	for _, m := range append(append(append([]trl.Message{}, pair.Prompt...), pair.Chosen...), pair.Rejected...) {
		if m.ToolCallID != "" || len(m.ToolCalls) > 0 {
			return p, Tools
		}
	}
	p.Chosen, p.Rejected = pair.Chosen[0].Content, pair.Rejected[0].Content
	switch {
	case p.Chosen == "" || p.Rejected == "":
		return p, Blank
	case p.Chosen == p.Rejected:
		return p, Same
	}
	for _, m := range pair.Prompt {
		p.Prompt = append(p.Prompt, Message{Role: m.Role, Content: m.Content})
	}
	return p, ""
}
