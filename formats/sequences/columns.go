package sequences

// Column reports whether sequences are made from a column of a trajectory's
// payload: its tokens, and what places them in the tree.
func Column(name string) bool { return columns[name] }

var columns = map[string]bool{
	"messages.parent": true, "messages.role": true, "messages.content_parts": true, "messages.sampled": true, "messages.call": true,
	"messages.branch": true, "messages.prefix_break": true,
	"messages.token_ids": true, "messages.logprobs": true, "messages.prompt_delta_ids": true,
	"calls.target": true, "calls.policy_version": true,
	"candidates.token_ids": true, // counted, and in no sequence
}
