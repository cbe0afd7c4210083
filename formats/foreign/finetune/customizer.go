package finetune

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/validate"
)

// Customizer's formats are the JSON lines that NeMo Customizer trains DPO on:
// a prompt, and one chosen and one rejected answer as text.

// CustomizerDPO writes the pairs on which NeMo Customizer trains by preferences.
var CustomizerDPO = exporters.Format{
	Name: "customizer-dpo", Use: validate.ForDPO, For: exporters.Training, Help: "NeMo Customizer's pairs", Of: exporters.Pairs,
	Files: []exporters.Extension{exporters.JSONL}, Form: 2,
	Lines: exporters.Lines(exporters.One(func(x *exporters.Item) (CustomizerPreference, string) {
		return CustomizerPreferenceOf(x.Pair)
	})),
}

// CustomizerSFT writes the conversations on which NeMo Customizer trains supervised.
var CustomizerSFT = exporters.Format{
	Name: "customizer-sft", Use: validate.ForSFT, For: exporters.Training, Help: "NeMo Customizer's conversations", Of: exporters.Top,
	Files: []exporters.Extension{exporters.JSONL}, Form: 2,
	Lines: exporters.Lines(exporters.One(func(x *exporters.Item) (Conversation, string) {
		return ConversationOf(x.Rows)
	})),
}

// CustomizerPreference is one pair.
type CustomizerPreference struct {
	Prompt   []CustomizerMessage `json:"prompt"`
	Chosen   string              `json:"chosen_response"`
	Rejected string              `json:"rejected_response"`
}

// CustomizerMessage is a chat message; there is no room for tools.
type CustomizerMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Why a pair cannot be written in this format.
const (
	Tools          = "tools" // tool calls or tool messages
	Blank          = "blank" // an answer without text
	CustomizerSame = "same"  // the two answers are equal
)

// CustomizerPreferenceOf converts a row of package formats/chat to this format.
func CustomizerPreferenceOf(pair trainset.Preference) (p CustomizerPreference, reason string) {
	if reason = chat.Unheld(0, pair.Prompt, pair.Chosen, pair.Rejected); reason != "" {
		return p, reason
	}
	p.Chosen, p.Rejected = pair.Chosen[0].Content, pair.Rejected[0].Content
	switch {
	case p.Chosen == "" || p.Rejected == "":
		return p, Blank
	case p.Chosen == p.Rejected:
		return p, CustomizerSame
	}
	for _, m := range pair.Prompt {
		p.Prompt = append(p.Prompt, CustomizerMessage{Role: m.Role, Content: m.Content})
	}
	return p, ""
}

// Conversation is a row of supervised training: every assistant message in it is trained on.
type Conversation struct {
	Messages []chat.Message  `json:"messages"`
	Tools    json.RawMessage `json:"tools,omitempty"`
}

// ConversationOf returns the row of a group's best member.
func ConversationOf(rows []formats.Trajectory) (c Conversation, reason string) {
	best, reason := trainset.Best(rows)
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
	empty := slices.ContainsFunc(p.Prompt, func(m CustomizerMessage) bool { return m.Content == "" })
	return !empty && len(p.Prompt) > 0 && p.Prompt[len(p.Prompt)-1].Role == "user"
}
