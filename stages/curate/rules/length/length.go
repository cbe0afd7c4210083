// Package length refuses trajectories that are too long to train on, in
// sampled tokens or in those of a single call, and ones with too few messages.
package length

import (
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
)

// Kind is the registry's entry.
var Kind = curate.Kind{
	Name:    "length",
	Help:    "drop trajectories above --max-sampled-tokens or --max-sequence-tokens, or below --min-messages",
	Reasons: []string{formats.DropLength, formats.DropFewMessages},
	New: func(o curate.Options) (curate.Rule, error) {
		if o.MaxSampledTokens == 0 && o.MaxSequenceTokens == 0 && o.MinMessages == 0 {
			return nil, nil
		}
		return rule{sampled: o.MaxSampledTokens, sequence: o.MaxSequenceTokens, messages: o.MinMessages}, nil
	},
}

// rule has 0 for what does not matter.
type rule struct {
	sampled, sequence, messages int
}

func (l rule) Rows(_ curate.Batch, _ curate.Group, rows []curate.Row) []curate.Verdict {
	verdicts := make([]curate.Verdict, len(rows))
	for i, r := range rows {
		verdicts[i] = l.judge(r.Trajectory)
	}
	return verdicts
}

func (l rule) judge(t *formats.Trajectory) curate.Verdict {
	if n := int(t.SampledTokens); l.sampled > 0 && n > l.sampled {
		return curate.Verdict{Reason: formats.DropLength, Detail: fmt.Sprintf("%d sampled tokens", n)}
	}
	if n := sequence(t); l.sequence > 0 && n > l.sequence {
		return curate.Verdict{Reason: formats.DropLength, Detail: fmt.Sprintf("a call of %d tokens", n)}
	}
	if n := len(t.Main()); n < l.messages {
		return curate.Verdict{Reason: formats.DropFewMessages, Detail: fmt.Sprintf("%d messages", n)}
	}
	return curate.Verdict{}
}

// sequence is the longest call under training.
func sequence(t *formats.Trajectory) int {
	n := 0
	for i := range t.Calls {
		if c := &t.Calls[i]; c.Target {
			n = max(n, int(c.PromptTokens)+int(c.CompletionTokens))
		}
	}
	return n
}
