// Package customizer writes the JSON lines that NeMo Customizer trains DPO on:
// a prompt, and one chosen and one rejected answer as text.
package customizer

import (
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/exporters"
)

// DPO is what it trains on by preferences.
var DPO = exporters.Format{
	Name: "customizer-dpo", Help: "NeMo Customizer's pairs", Of: exporters.Pairs, Files: []exporters.Extension{exporters.JSONL},
	Lines: exporters.Lines(exporters.Pair(PreferenceOf)),
}

// SFT is what it imitates.
var SFT = exporters.Format{
	Name: "customizer-sft", Help: "NeMo Customizer's conversations", Of: exporters.Top, Files: []exporters.Extension{exporters.JSONL},
	Lines: exporters.Lines(exporters.Each(ConversationOf)),
}

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

// PreferenceOf converts a row of package chat to this format.
func PreferenceOf(pair chat.Preference) (p Preference, reason string) {
	for _, m := range append(append(append([]chat.Message{}, pair.Prompt...), pair.Chosen...), pair.Rejected...) {
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
