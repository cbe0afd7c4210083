package score

import "slices"

// lightColumns are the columns that the detail Light has, all of which are adjacent at
// a part's end.
var lightColumns = []string{"trajectory_id", "run", "example_id", "epoch", "generation", "forked_from", "fork_call", "answer",
	"status", "stop_reason", "failure_class", "model", "policy_version", "prompt_tokens", "completion_tokens",
	"sampled_tokens", "metadata"}

// textColumns are those that the detail Text adds: the messages without their token-level data.
var textColumns = []string{"tool_sets", "messages.parent", "messages.role", "messages.content", "messages.content_parts",
	"messages.name", "messages.reasoning", "messages.tool_call_id", "messages.tool_calls", "messages.sampled",
	"messages.finish_reason", "messages.call", "messages.branch", "calls.tools", "calls.target", "calls.function", "artifacts"}

// storedColumns are the rewards with which a trajectory came.
var storedColumns = []string{"reward", "rewards"}

// carriedColumns are columns of a trajectory that its score repeats.
var carriedColumns = []string{"trajectory_id", "example_id", "epoch", "generation", "forked_from", "fork_call", "status"}

// columns returns the columns that the rewards read; nil for all.
func (b rewardSet) columns() []string {
	detail := b.detail()
	if detail == Tokens {
		return nil
	}
	out := b.light()
	if detail >= Head {
		out = append(out, "example")
	}
	if detail >= Text {
		out = append(out, textColumns...)
	}
	return out
}

// light returns those of lightColumns that a reward reads or that a score repeats.
func (b rewardSet) light() []string {
	read := slices.Clone(carriedColumns)
	for _, c := range b {
		if c.Columns == nil {
			return slices.Clone(lightColumns)
		}
		read = append(read, c.Columns...)
	}
	return slices.DeleteFunc(slices.Clone(lightColumns), func(name string) bool { return !slices.Contains(read, name) })
}
