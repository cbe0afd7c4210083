package importers

import "github.com/rollmill/rollmill/formats/chat"

// Why a message begins another branch (column messages.branch), as rollout's
// recorder names it.
const (
	BranchSubagent = "subagent" // another first message: a subagent, or a new conversation
	BranchHistory  = "history"  // earlier messages were changed or left out: compaction, edits, a step back
	BranchRetry    = "retry"    // the model was asked the same again
	BranchChoice   = "choice"   // another choice of one answer
)

// PromptDelta returns the columns prompt_delta_ids and prefix_break of a sampled
// message that is added next, given all ids of its prompt.
func (c *Conversation) PromptDelta(prompt []int32) (delta []int32, cause string) {
	return chat.PromptDelta(c.Messages, c.Last(), prompt, nil)
}
