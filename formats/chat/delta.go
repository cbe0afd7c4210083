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

// PromptDelta returns the ids of a prompt that ends with messages[at], -1 for
// none, after the nearest sampled ancestor's last token. When the prompt does not
// begin with the ancestor's tokens it returns the whole prompt and the cause.
// changed are causes of which the prompt itself gives evidence, by message.
func PromptDelta(messages []formats.Message, at int, prompt []int32, changed map[int]string) (delta []int32, cause string) {
	if prompt == nil {
		return nil, ""
	}
	ancestor := sampledAncestor(messages, at)
	if ancestor < 0 {
		return prompt, ""
	}
	chain, known := sampledChain(messages, ancestor)
	if !known {
		return prompt, BreakUnknown
	}
	rest := prompt
	for _, at := range chain {
		m := &messages[at]
		after, ok := cutPrefix(rest, m.PromptDeltaIDs)
		if ok {
			after, ok = cutPrefix(after, m.TokenIDs)
		}
		if !ok {
			return prompt, breakCause(m, changed[at], rest)
		}
		rest = after
	}
	return slices.Clone(rest), "" // a copy, so that the whole prompt is not kept
}

// PromptIDs returns the ids of the whole prompt that m answers, which ends with messages[at]; nil
// if they are not known. It undoes PromptDelta.
func PromptIDs(messages []formats.Message, at int, m *formats.Message) []int32 {
	ancestor := sampledAncestor(messages, at)
	if m.PromptDeltaIDs == nil || m.PrefixBreak != "" || ancestor < 0 {
		return m.PromptDeltaIDs
	}
	chain, known := sampledChain(messages, ancestor)
	if !known {
		return nil
	}
	var out []int32
	for _, i := range chain {
		out = append(append(out, messages[i].PromptDeltaIDs...), messages[i].TokenIDs...)
	}
	return append(out, m.PromptDeltaIDs...)
}

func cutPrefix(ids, prefix []int32) (rest []int32, ok bool) {
	if len(ids) < len(prefix) || !slices.Equal(ids[:len(prefix)], prefix) {
		return ids, false
	}
	return ids[len(prefix):], true
}

func sampledAncestor(messages []formats.Message, at int) int {
	for at >= 0 && !messages[at].Sampled {
		at = int(messages[at].Parent)
	}
	return at
}

// sampledChain returns the sampled messages whose prompts and tokens, joined, are all
// tokens up to the end of the last: those since the last prefix break.
func sampledChain(messages []formats.Message, at int) (chain []int, known bool) {
	for at >= 0 {
		m := &messages[at]
		if m.TokenIDs == nil || m.PromptDeltaIDs == nil {
			return nil, false
		}
		chain = append(chain, at)
		if m.PrefixBreak != "" {
			break // its delta is the whole prompt
		}
		at = sampledAncestor(messages, int(m.Parent))
	}
	slices.Reverse(chain)
	return chain, true
}

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
