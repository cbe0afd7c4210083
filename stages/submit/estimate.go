package submit

import (
	"cmp"
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/backends"
)

// tokensOf estimates how many tokens of a row are sent: the engine's count for
// the last trained call, or a quarter of the text's bytes if there is no count.
// Branches off the main path are left out.
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

// price adds what the trainer did not estimate itself to the statistics.
func (s *session) price(stats *backends.BatchStats) {
	stats.Total = cmp.Or(stats.Total, s.made.tokens)
	if s.Price > 0 {
		stats.Cost = new(float64(stats.Total) * float64(max(1, stats.Passes)) / 1e6 * s.Price)
	}
}

func estimate(stats backends.BatchStats) string {
	text := fmt.Sprintf("about %d tokens with their context", stats.Total)
	if stats.Passes > 1 {
		text += fmt.Sprintf(", %d times", stats.Passes)
	}
	if stats.Cost == nil {
		return text + ", at an unknown price (--price)"
	}
	return text + fmt.Sprintf(", about %.4g at the price given", *stats.Cost)
}
