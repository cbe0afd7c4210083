package rules

import (
	"fmt"
	"math"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

const reasonLogprobs = "logprobs" // its log probabilities cannot be trained on

// Logprobs refuses trajectories whose sampled tokens' log probabilities cannot be trained on:
// missing, not one for each token id, NaN, infinite or above 0, at or below a floor (an engine
// writes -9999 for an unknown one; others have other floors), or raw at a temperature other than
// 1, where they are not those of the sampled distribution. An engine's logprobs count as raw
// unless it was found to give processed ones (column calls.logprobs_mode).
var Logprobs = curate.RuleKind{
	Kind: plugin.Kind[curate.RuleSettings]{Name: "logprobs", Help: "drop trajectories without valid log probabilities",
		New: func() curate.RuleSettings { return &LogprobsSettings{} }},
	Reasons: []string{reasonLogprobs},
}

// LogprobsSettings are the rule's settings.
type LogprobsSettings struct {
	Check          bool // false: the rule does not run
	AnyTemperature bool // accept raw ones at a temperature other than 1
	// this value or less means unknown; nil: the floor of audit and submit. In the identity when given, even at the default
	Floor *float64
}

// Declare declares the settings.
func (s *LogprobsSettings) Declare(d *plugin.Declarer) {
	d.Bool(&s.Check, "check-logprobs",
		"drop trajectories without valid log probabilities: missing, NaN, too few, at a floor, raw at a temperature "+
			"other than 1").ID("check-logprobs")
	d.Bool(&s.AnyTemperature, "any-temperature", "accept raw log probabilities at any temperature; with --check-logprobs").
		ID("any-temperature")
	d.OptionalFloat(&s.Floor, "logprob-floor", "treat a log probability of `X` or less as missing; with --check-logprobs").
		ID("logprob-floor").DefaultShown(fmt.Sprint(validate.LogprobFloor))
}

// Rule makes the rule.
func (s *LogprobsSettings) Rule(curate.Setup) (curate.Rule, error) {
	changed, floor := plugin.Changed(s, &LogprobsSettings{}), float64(validate.LogprobFloor)
	if s.Floor != nil {
		floor = *s.Floor
	}
	switch {
	case !s.Check && len(changed) > 0:
		return curate.Rule{}, curate.Usage("give --check-logprobs too", "curate: --%s without --check-logprobs", changed[0])
	case !s.Check:
		return curate.Rule{}, nil
	case !(floor < 0):
		return curate.Rule{}, curate.Usage("a log probability is 0 or less: give what the engine writes for an unknown one",
			"curate: --logprob-floor %v", floor)
	}
	return eachRow(logprobsRule{anyTemperature: s.AnyTemperature, floor: floor}.judge), nil
}

type logprobsRule struct {
	anyTemperature bool
	floor          float64
}

func (c logprobsRule) judge(_ curate.Batch, r curate.Row) curate.Verdict {
	if detail := c.fault(r.Trajectory); detail != "" {
		return curate.Verdict{Reason: reasonLogprobs, Detail: detail}
	}
	return curate.Verdict{}
}

func (c logprobsRule) fault(t *formats.Trajectory) string {
	trained := 0
	for i := range t.Messages {
		if !t.Trained(i) {
			continue
		}
		trained++
		m := &t.Messages[i]
		what := ""
		switch {
		case m.NoTokens():
		case len(m.TokenIDs) == 0:
			what = "token ids are missing"
		case len(m.Logprobs) == 0:
			what = "log probabilities are missing"
		case len(m.Logprobs) != len(m.TokenIDs):
			what = fmt.Sprintf("%d log probabilities for %d tokens", len(m.Logprobs), len(m.TokenIDs))
		default:
			what = c.values(m.Logprobs)
		}
		if what == "" && !c.anyTemperature {
			what = temperature(&t.Calls[m.Call])
		}
		if what != "" {
			return fmt.Sprintf("message %d: %s", i, what)
		}
	}
	if trained == 0 {
		return "it has no sampled message"
	}
	return ""
}

func (c logprobsRule) values(list []float32) string {
	for i, p := range list {
		switch x := float64(p); {
		case math.IsNaN(x):
			return fmt.Sprintf("the log probability of token %d is NaN", i)
		case math.IsInf(x, 0):
			return fmt.Sprintf("the log probability of token %d is infinite", i)
		case p > 0:
			return fmt.Sprintf("the log probability of token %d is above 0", i)
		case x <= c.floor:
			return fmt.Sprintf("the log probability of token %d is %v, at or under the floor", i, p)
		}
	}
	return ""
}

func temperature(c *formats.Call) string {
	if t, raw := c.RawTemperature(); raw {
		return fmt.Sprintf("log probabilities are raw at temperature %g", t)
	}
	return ""
}
