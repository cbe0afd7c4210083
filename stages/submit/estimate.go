package submit

import (
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/backends"
)

// tokensOf estimates how many tokens of a row travel: what the engine counted
// for the last call that trains, or a quarter of the text's bytes where it
// counted nothing. Branches beside the main path are left out.
func tokensOf(t *formats.Trajectory) int64 {
	var bytes int64
	for i := len(t.Messages) - 1; i >= 0; i-- {
		m := &t.Messages[i]
		if t.Trained(i) && t.Calls[m.Call].PromptTokens > 0 {
			return int64(t.Calls[m.Call].PromptTokens) + int64(max(len(m.TokenIDs), int(t.Calls[m.Call].CompletionTokens)))
		}
		bytes += int64(len(m.Content) + len(m.ContentParts) + len(m.Reasoning))
		for _, c := range m.ToolCalls {
			bytes += int64(len(c.Name) + len(c.Arguments))
		}
	}
	return bytes/4 + 1
}

// price completes the statistics with what the trainer did not estimate by itself.
func (s *session) price(stats *backends.BatchStats) {
	if stats.Total == 0 {
		stats.Total = s.made.tokens
	}
	if s.Price > 0 {
		cost := float64(stats.Total) * float64(max(1, stats.Passes)) / 1e6 * s.Price
		stats.Cost = &cost
	}
}

// estimate describes the tokens and cost of a batch.
func estimate(stats backends.BatchStats) string {
	text := fmt.Sprintf("about %d tokens with their context", stats.Total)
	if stats.Passes > 1 {
		text += fmt.Sprintf(", %d times", stats.Passes)
	}
	if stats.Cost == nil {
		return text + ", at a price that is not known (--price)"
	}
	return text + fmt.Sprintf(", about %.4g at the price given", *stats.Cost)
}
