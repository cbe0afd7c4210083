package chat

import (
	"slices"

	"github.com/rollmill/rollmill/formats"
)

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
