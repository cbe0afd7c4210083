package recorder

import "slices"

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
	pieces, known := t.ids(ancestor)
	if !known {
		return prompt, BreakUnknown
	}
	rest := prompt
	for _, piece := range pieces {
		if len(rest) < len(piece) || !slices.Equal(rest[:len(piece)], piece) {
			return prompt, t.breakCause(p, ancestor)
		}
		rest = rest[len(piece):]
	}
	return slices.Clone(rest), "" // a copy, so that the whole prompt is not kept
}

func (t *Tree) sampledAncestor(at int) int {
	for at >= 0 && !t.Messages[at].Sampled {
		at = int(t.Messages[at].Parent)
	}
	return at
}

// ids returns, in pieces, all tokens up to the end of a sampled message.
func (t *Tree) ids(at int) (pieces [][]int32, known bool) {
	for at >= 0 {
		m := &t.Messages[at]
		if m.TokenIDs == nil || m.PromptDeltaIDs == nil {
			return nil, false
		}
		pieces = append(pieces, m.TokenIDs, m.PromptDeltaIDs)
		if m.PrefixBreak != "" {
			break // its delta is the whole prompt
		}
		at = t.sampledAncestor(int(m.Parent))
	}
	slices.Reverse(pieces)
	return pieces, true
}

func (t *Tree) breakCause(p Path, ancestor int) string {
	if p.changed != "" {
		return p.changed
	}
	for at := ancestor; at >= 0; at = int(t.Messages[at].Parent) {
		if m := &t.Messages[at]; m.Sampled && (m.Reasoning != "" || thinking.MatchString(m.Content)) {
			return BreakReasoning
		}
	}
	return BreakTemplate
}
