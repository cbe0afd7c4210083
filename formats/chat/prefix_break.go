package chat

import (
	"regexp"
	"slices"

	"github.com/rollmill/rollmill/formats"
)

// Why a prompt does not begin with its ancestor's tokens (column messages.prefix_break).
const (
	BreakReasoning = "reasoning" // earlier reasoning was left out
	BreakTemplate  = "template"  // the same messages, rendered otherwise
	BreakUnknown   = "unknown"   // the ancestor's ids are not known
)

// Thinking is reasoning at the beginning of an answer's text.
var Thinking = regexp.MustCompile(`(?s)^\s*<think>.*?</think>`)

// breakCause returns why a prompt leaves the tokens before and of a sampled
// message, the first that it leaves. rest is the prompt from there on, changed
// what the agent changed of the message.
func breakCause(m *formats.Message, changed string, rest []int32) string {
	at := 0
	old := slices.Concat(m.PromptDeltaIDs, m.TokenIDs)
	for at < len(old) && at < len(rest) && old[at] == rest[at] {
		at++
	}
	inAnswer := at >= len(m.PromptDeltaIDs)
	reasoned := m.Reasoning != "" || Thinking.MatchString(m.Content)
	switch {
	case changed != "" && inAnswer:
		return changed
	case reasoned && shortened(m.TokenIDs[max(0, at-len(m.PromptDeltaIDs)):], rest[at:]):
		return BreakReasoning
	}
	return BreakTemplate
}

// shortened reports whether a prompt goes on with the end of an answer, so that
// only what is before that end was left out. Its time grows with their length
// and no faster, also when all tokens are the same.
func shortened(answer, prompt []int32) bool {
	const between = -1 // is no id
	ids := slices.Concat(prompt[:min(len(prompt), len(answer))], []int32{between}, answer)
	border := make([]int32, len(ids)) // how much of ids[:i+1] is both its beginning and its end
	for i := 1; i < len(ids); i++ {
		n := border[i-1]
		for n > 0 && ids[n] != ids[i] {
			n = border[n-1]
		}
		if ids[n] == ids[i] {
			n++
		}
		border[i] = n
	}
	return border[len(ids)-1] > 0
}
