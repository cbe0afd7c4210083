package rules

import (
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

const (
	reasonLength      = "length"       // it is too long
	reasonFewMessages = "few_messages" // it has too few messages
)

// Length refuses trajectories that are too long to train on, in sampled
// tokens or in the tokens of a single call, and those with too few messages.
var Length = curate.RuleKind{
	Kind: plugin.Kind[curate.RuleSettings]{Name: "length",
		Help: "drop trajectories that are too long, or have too few messages",
		New:  func() curate.RuleSettings { return &LengthSettings{} }},
	Reasons: []string{reasonLength, reasonFewMessages},
}

// LengthSettings are the rule's settings; 0 means no limit, and without limits the
// rule does not run.
type LengthSettings struct {
	Sampled  int // most sampled tokens of a trajectory
	Sequence int // most tokens of a call, prompt and answer
	Messages int // fewest messages on its main path
}

// Declare declares the settings.
func (s *LengthSettings) Declare(d *plugin.Declarer) {
	d.Int(&s.Sampled, "max-sampled-tokens", "drop trajectories with more than `N` sampled tokens").Min(0).
		ID("max-sampled-tokens")
	d.Int(&s.Sequence, "max-sequence-tokens", "drop trajectories with a call of more than `N` tokens, prompt and answer").Min(0).
		ID("max-sequence-tokens")
	d.Int(&s.Messages, "min-messages", "drop trajectories with fewer than `N` messages").Min(0).ID("min-messages")
}

// Rule makes the rule.
func (s *LengthSettings) Rule(curate.Setup) (curate.Rule, error) {
	if *s == (LengthSettings{}) {
		return curate.Rule{}, nil
	}
	return eachRow(s.judge), nil
}

func (s *LengthSettings) judge(_ curate.Batch, r curate.Row) curate.Verdict {
	t := r.Trajectory
	if n := int(t.SampledTokens); s.Sampled > 0 && n > s.Sampled {
		return curate.Verdict{Reason: reasonLength, Detail: fmt.Sprintf("%d sampled tokens", n)}
	}
	if n := sequence(t); s.Sequence > 0 && n > s.Sequence {
		return curate.Verdict{Reason: reasonLength, Detail: fmt.Sprintf("a call of %d tokens", n)}
	}
	if n := len(t.Main()); n < s.Messages {
		return curate.Verdict{Reason: reasonFewMessages, Detail: fmt.Sprintf("%d messages", n)}
	}
	return curate.Verdict{}
}

// sequence returns the length of the longest trained call.
func sequence(t *formats.Trajectory) int {
	n := 0
	for i := range t.Calls {
		if c := &t.Calls[i]; c.Target {
			n = max(n, int(c.PromptTokens)+int(c.CompletionTokens))
		}
	}
	return n
}
