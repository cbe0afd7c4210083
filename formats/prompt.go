package formats

import (
	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats/outcomes"
)

// Facts of a manifest: the groups whose members have different first prompts, and the
// rows of an import that are calls of attempts, as check prefix_rows finds.
const (
	FactMixedPrompts = "mixed_prompt_groups"
	FactPrefixRows   = "prefix_rows"
)

// FirstPrompt returns a digest of what a trajectory was asked: its first system
// message and its first message of a user. It returns false if it has neither.
func FirstPrompt(t *Trajectory) (digest uint64, asked bool) {
	if len(t.Messages) == 0 {
		return 0, false
	}
	var system, user bool
	main := t.Messages // of most trajectories, which have no branches
	for i := range main {
		if int(main[i].Parent) != i-1 {
			main = make([]Message, 0, len(t.Messages))
			for _, i := range t.Main() {
				main = append(main, t.Messages[i])
			}
			break
		}
	}
	for i := range main {
		m := &main[i]
		if m.Sampled {
			break
		}
		switch {
		case m.Role == "system" && !system:
			system = true
		case m.Role == "user" && !user:
			user = true
		default:
			continue
		}
		for _, text := range [...]string{m.Role, m.Content, m.ContentParts} {
			digest = digest*0x9e3779b97f4a7c15 + xxh3.HashString(text)
		}
	}
	return digest, system || user
}

// MixedPrompts reports whether members of a group that did not fail have different first prompts. They may come in
// pieces: first is the digest of that of the pieces before, 0 for none.
func MixedPrompts(group []Trajectory, first *uint64) bool {
	for i := range group {
		if group[i].Status != outcomes.StatusOK && group[i].Status != outcomes.StatusTruncated {
			continue
		}
		digest, asked := FirstPrompt(&group[i])
		if asked && *first != 0 && digest != *first {
			return true
		}
		if asked {
			*first = digest
		}
	}
	return false
}
