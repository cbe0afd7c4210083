package recorder

import (
	"slices"

	"github.com/rollmill/rollmill/formats"
)

// promptDelta returns the ids of a prompt that follow the nearest sampled
// ancestor's last token. When the prompt does not begin with the ancestor's
// tokens it returns the whole prompt and the cause.
func (t *Tree) promptDelta(p Path, prompt []int32) (delta []int32, cause string) {
	if prompt == nil {
		return nil, ""
	}
	ancestor := t.sampledAncestor(p.At)
	if ancestor < 0 {
		return prompt, ""
	}
	chain, known := t.chain(ancestor)
	if !known {
		return prompt, BreakUnknown
	}
	rest := prompt
	for _, at := range chain {
		m := &t.Messages[at]
		after, ok := cutPrefix(rest, m.PromptDeltaIDs)
		if ok {
			after, ok = cutPrefix(after, m.TokenIDs)
		}
		if !ok {
			return prompt, breakCause(m, p.changed[at], rest)
		}
		rest = after
	}
	return slices.Clone(rest), "" // a copy, so that the whole prompt is not kept
}

func cutPrefix(ids, prefix []int32) (rest []int32, ok bool) {
	if len(ids) < len(prefix) || !slices.Equal(ids[:len(prefix)], prefix) {
		return ids, false
	}
	return ids[len(prefix):], true
}

func (t *Tree) sampledAncestor(at int) int {
	for at >= 0 && !t.Messages[at].Sampled {
		at = int(t.Messages[at].Parent)
	}
	return at
}

// chain returns the sampled messages whose prompts and tokens, joined, are all
// tokens up to the end of the last: those since the last prefix break.
func (t *Tree) chain(at int) (chain []int, known bool) {
	for at >= 0 {
		m := &t.Messages[at]
		if m.TokenIDs == nil || m.PromptDeltaIDs == nil {
			return nil, false
		}
		chain = append(chain, at)
		if m.PrefixBreak != "" {
			break // its delta is the whole prompt
		}
		at = t.sampledAncestor(int(m.Parent))
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
	reasoned := m.Reasoning != "" || thinking.MatchString(m.Content)
	switch {
	case changed != "" && inAnswer:
		return changed
	case reasoned && shortened(m.TokenIDs[max(0, at-len(m.PromptDeltaIDs)):], rest[at:]):
		return BreakReasoning
	}
	return BreakTemplate
}

// shortened reports whether a prompt goes on with the end of an answer, so that
// only what is before that end was left out.
func shortened(answer, prompt []int32) bool {
	for i := range answer {
		if _, ok := cutPrefix(prompt, answer[i:]); ok {
			return true
		}
	}
	return false
}
