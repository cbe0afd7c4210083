package validate

import "github.com/rollmill/rollmill/formats"

// promptTokens compares the prompt ids of each sampled message, which are its
// ancestors' ids and prompt_delta_ids, with the number of prompt tokens that
// the engine counted. A history that was tokenized again has other ids, and
// nearly always another number of them.
func promptTokens(c *Count, r *Row) {
	t := r.wide()
	if t == nil {
		return
	}
	lengths := make([]int, len(t.Messages)) // of each message's prompt and its own ids; -1 unknown
	for i := range t.Messages {
		m := &t.Messages[i]
		if !m.Sampled {
			continue
		}
		prompt := promptLength(t, lengths, i)
		if lengths[i] = -1; prompt < 0 || len(m.TokenIDs) == 0 && !m.NoTokens() {
			continue
		}
		lengths[i] = prompt + len(m.TokenIDs)
		if m.Call < 0 || int(m.Call) >= len(t.Calls) || t.Calls[m.Call].PromptTokens == 0 {
			continue
		}
		c.Of++
		if counted := int(t.Calls[m.Call].PromptTokens); counted != prompt {
			c.Add(r, "", "message %d: the ids before it are %d, the engine counted %d", i, prompt, counted)
		}
	}
}

// promptLength returns the number of ids in the prompt of a sampled message; -1
// when some are missing.
func promptLength(t *formats.Trajectory, lengths []int, i int) int {
	m := &t.Messages[i]
	if m.PromptDeltaIDs == nil {
		return -1
	}
	for p := m.Parent; m.PrefixBreak == "" && p >= 0 && int(p) < i; p = t.Messages[p].Parent {
		if t.Messages[p].Sampled {
			if lengths[p] < 0 {
				return -1
			}
			return lengths[p] + len(m.PromptDeltaIDs)
		}
	}
	return len(m.PromptDeltaIDs)
}

// answerTokens compares the sampled ids and logprobs of each call with the
// number of completion tokens that the engine counted.
func answerTokens(c *Count, r *Row) {
	t := r.wide()
	if t == nil {
		return
	}
	kept := make([]int, len(t.Calls))
	for i := range t.Messages {
		m := &t.Messages[i]
		if m.Sampled && m.Call >= 0 && int(m.Call) < len(kept) {
			kept[m.Call] += max(len(m.TokenIDs), len(m.Logprobs))
		}
	}
	for i := range t.Candidates {
		a := &t.Candidates[i]
		if a.Call != nil && *a.Call >= 0 && int(*a.Call) < len(kept) {
			kept[*a.Call] += max(len(a.TokenIDs), len(a.Logprobs))
		}
	}
	for i := range t.Calls {
		call := &t.Calls[i]
		if !call.Target || call.Error != "" || call.CompletionTokens == 0 || kept[i] == 0 {
			continue
		}
		c.Of++
		if kept[i] != int(call.CompletionTokens) {
			c.Add(r, "", "call %d: %d ids are recorded, the engine counted %d", i, kept[i], call.CompletionTokens)
		}
	}
}
