package formats

import "github.com/zeebo/xxh3"

// FactMixedPrompts counts, in a manifest, the groups whose members have different
// first prompts.
const FactMixedPrompts = "mixed_prompt_groups"

// FirstPrompt returns a digest of what a trajectory was asked: its first system
// message and its first message of a user. It returns false if it has neither.
func FirstPrompt(t *Trajectory) (digest uint64, asked bool) {
	h, seen := xxh3.New(), map[string]bool{}
	if len(t.Messages) == 0 {
		return 0, false
	}
	for _, i := range t.Main() {
		m := &t.Messages[i]
		if m.Sampled {
			break
		}
		if (m.Role == "system" || m.Role == "user") && !seen[m.Role] {
			seen[m.Role] = true
			_, _ = h.WriteString(m.Role + "\x00" + m.Content + "\x00" + m.ContentParts + "\x00")
		}
	}
	return h.Sum64(), len(seen) > 0
}

// MixedPrompts reports whether members of a group that did not fail have different
// first prompts.
func MixedPrompts(group []Trajectory) bool {
	var first uint64
	some := false
	for i := range group {
		if group[i].Status != StatusOK && group[i].Status != StatusTruncated {
			continue
		}
		digest, asked := FirstPrompt(&group[i])
		if asked && some && digest != first {
			return true
		}
		if asked {
			first, some = digest, true
		}
	}
	return false
}
