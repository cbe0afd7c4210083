package exporters

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Skipped counts the items that gave no row, by reason.
type Skipped map[string]int64

// meanings are those of the reasons that do not explain themselves.
var meanings = map[string]string{
	"no_ids": "the engine gave no token ids", "no_token_ids": "the engine gave no token ids",
	"no_prompt": "the engine gave no ids of the prompt", "token_count": "ids and log probabilities differ in number",
	"logprob": "invalid log probabilities", "bad_logprob": "invalid log probabilities",
	"turns": "several messages were sampled", "branches": "sampled outside the main path", "tools": "the format cannot hold these tools",
	"others": "the policy did not sample every answer", "plain_assistant": "the policy did not sample every answer",
	"prefix_break": "a prompt does not continue the tokens before it", "singleton": "nothing to compare with",
	"too_few": "fewer than two scored members", "tie": "equal rewards", "prompts": "different prompts",
	"parts":    "content that is not text",
	"unsolved": "the reward is below --solved-threshold", "unscored": "no reward", "same": "equal answers", "empty": "nothing was sampled",
	"arguments": "a tool call's arguments are no JSON object", "numbers": "Parquet's readers would change a number of a tool call",
}

// String returns what each reason means, and how often it occurred.
func (s Skipped) String() string {
	var reasons []string
	for _, r := range slices.Sorted(maps.Keys(s)) {
		text := fmt.Sprintf("%s %d", r, s[r])
		if meaning := meanings[r]; meaning != "" {
			text = meaning + " (" + text + ")"
		}
		reasons = append(reasons, text)
	}
	return strings.Join(reasons, ", ")
}
