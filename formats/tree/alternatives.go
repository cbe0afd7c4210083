package tree

import (
	"encoding/json"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// SplitAlternatives moves the answers that the agent did not choose from the tree
// to the candidates, so that they do not train with the reward of the chosen one.
// Among the trained answers to one prompt (n > 1, or a prompt that was asked
// again), those that another message continues were chosen. If none is
// continued, the first choice of the last call was. The first choice of the
// trajectory's last call always stays: nothing could continue it yet.
func SplitAlternatives(messages []formats.Message, calls []formats.Call) ([]formats.Message, []formats.Candidate) {
	alternatives := Unchosen(messages, calls)
	if len(alternatives) == 0 {
		return messages, nil
	}
	index := make([]int32, len(messages)) // new index of each message that stays
	var kept []formats.Message
	for i := range messages {
		index[i] = -1
		if _, removed := alternatives[i]; removed {
			continue
		}
		index[i] = int32(len(kept))
		m := messages[i]
		if m.Parent >= 0 {
			m.Parent = index[m.Parent]
		}
		kept = append(kept, m)
	}
	var candidates []formats.Candidate
	for i := range messages {
		if chosen, removed := alternatives[i]; removed {
			candidates = append(candidates, candidate(&messages[i], index[chosen], messages[chosen].Call))
		}
	}
	for i := range kept { // the first remaining child is no branch any more
		if kept[i].Sampled && slices.Contains(alternativeBranches, kept[i].Branch) &&
			!slices.ContainsFunc(kept[:i], func(m formats.Message) bool { return m.Sampled && m.Parent == kept[i].Parent }) {
			kept[i].Branch = ""
		}
	}
	return kept, candidates
}

var alternativeBranches = []string{BranchChoice, BranchRetry, BranchParallel}

// Unchosen maps each answer that SplitAlternatives moves to the chosen one.
func Unchosen(messages []formats.Message, calls []formats.Call) map[int]int {
	trained := func(m *formats.Message) bool {
		return m.Sampled && m.Call >= 0 && int(m.Call) < len(calls) && calls[m.Call].Target
	}
	siblings, continued := map[int32][]int{}, make([]bool, len(messages))
	last := -1 // the first choice of the last call
	for i := range messages {
		m := &messages[i]
		if m.Parent >= 0 {
			continued[m.Parent] = true
		}
		if !trained(m) {
			continue
		}
		siblings[m.Parent] = append(siblings[m.Parent], i)
		if last < 0 || messages[last].Call < m.Call {
			last = i
		}
	}
	out := map[int]int{}
	for _, list := range siblings {
		if len(list) < 2 {
			continue
		}
		chosen := list[0]
		for _, i := range list {
			if messages[i].Call > messages[chosen].Call {
				chosen = i
			}
		}
		if at := slices.IndexFunc(list, func(i int) bool { return continued[i] }); at >= 0 {
			chosen = list[at]
		}
		for _, i := range list {
			if i != chosen && !continued[i] && i != last {
				out[i] = chosen
			}
		}
	}
	return out
}

func candidate(m *formats.Message, chosen, call int32) formats.Candidate {
	c := formats.Candidate{Message: chosen, Content: m.Content, Reason: outcomes.CandidateAlternative, Reasoning: m.Reasoning,
		ToolCalls: m.ToolCalls, FinishReason: m.FinishReason, Call: &m.Call,
		TokenIDs: m.TokenIDs, Logprobs: m.Logprobs, TokenTexts: m.TokenTexts}
	if m.Call != call {
		c.Reason = outcomes.CandidateRetried
	}
	if m.ContentParts != "" {
		c.Content = chat.JoinedText([]byte(m.ContentParts))
		parts, _ := json.Marshal(map[string]json.RawMessage{"content_parts": json.RawMessage(m.ContentParts)})
		c.Metadata = string(parts)
	}
	return c
}
