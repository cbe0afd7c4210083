package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// Fate says whether something trains, and why.
type Fate struct {
	State   string // TrainsYes, TrainsNo, TrainsUndecided, or Input
	Why     string // "" of an input that goes without saying
	Against bool   // it trains with a negative advantage
}

// Input is the state of a message that was not sampled.
const Input = "input"

// Fate returns whether the trajectory trains.
func (c *Conversation) Fate() Fate {
	a := c.t.Advantage
	return Fate{c.Trains, c.Why, c.Trains != TrainsNo && a != nil && *a < 0}
}

// FateOf returns whether the tokens of a message train.
func (c *Conversation) FateOf(i int) Fate {
	m := &c.t.Messages[i]
	no := func(why string) Fate { return Fate{State: TrainsNo, Why: "does not train: " + why} }
	switch {
	case !m.Sampled && m.Role == "assistant":
		return Fate{State: Input, Why: "input: the agent wrote it, or a call that is not recorded"}
	case !m.Sampled:
		return Fate{State: Input}
	case m.Call < 0 || int(m.Call) >= len(c.t.Calls):
		return no("no call is recorded for it")
	case !c.t.Trained(i) && c.t.Repeats(int(m.Call)):
		return no("repeated, it trains where it was sampled")
	case !c.t.Trained(i):
		return no("its call is not to the target" + text.Because("", c.t.Calls[m.Call].Function))
	case c.Trains == TrainsNo:
		return no("the trajectory does not")
	case m.NoTokens():
		return no("no token was sampled")
	}
	f := Fate{State: c.Trains, Why: "trains"}
	if len(m.TokenIDs) == 0 {
		f.Why = "to train, but without token ids"
	} else if c.Trains == TrainsUndecided {
		f.Why = "trains if curate keeps it"
	}
	if a := c.t.AdvantageOf(i); a != nil {
		f.Why, f.Against = f.Why+fmt.Sprintf(", advantage %+.4g", *a), *a < 0
	}
	return f
}

// Notes returns what is known of a message besides its text, its place in the tree and whether
// it trains.
func (c *Conversation) Notes(i int) (notes []string) {
	m := &c.t.Messages[i]
	if m.ToolCallID != "" {
		notes = append(notes, "answers "+text.Name(m.ToolCallID))
	}
	if !m.Sampled {
		return notes
	}
	if n := cmp.Or(len(m.TokenIDs), len(m.Logprobs)); n > 0 {
		notes = append(notes, plural.Of(n, "token"))
	} else {
		notes = append(notes, "no token ids")
	}
	sum, valid := 0.0, 0
	for _, l := range m.Logprobs {
		if !NoLogprob(l) {
			sum, valid = sum+float64(l), valid+1
		}
	}
	if valid > 0 {
		notes = append(notes, fmt.Sprintf("mean logprob %.4g", sum/float64(valid)))
	}
	if n := len(m.Logprobs) - valid; n > 0 {
		notes = append(notes, plural.Of(n, "invalid logprob"))
	}
	notes = append(notes, "finish "+cmp.Or(text.Name(m.FinishReason), "-"))
	if m.Call >= 0 {
		notes = append(notes, fmt.Sprintf("call %d%s", m.Call, c.asked(m.Call)))
	}
	if v := c.PolicyOf(i); v != "" {
		notes = append(notes, "policy "+v)
	}
	if n := len(m.PromptDeltaIDs); n > 0 {
		notes = append(notes, plural.Of(n, "new prompt token"))
	}
	for _, s := range c.Signals {
		if int(s.Message) == i {
			notes = append(notes, fmt.Sprintf("%s %.4g", text.Name(s.Component), s.Value))
		}
	}
	return notes
}

// asked returns which agent made a call, and which model it asked, if they are recorded.
func (c *Conversation) asked(call int32) (who string) {
	if int(call) >= len(c.t.Calls) {
		return ""
	}
	if of := c.t.Calls[call].Function; of != "" {
		who += " of " + text.Name(of)
	}
	if to := c.t.Calls[call].Model; to != "" {
		who += " to " + text.Name(to)
	}
	return who
}

// PolicyOf returns the policy version that sampled a message, "" if it is not known.
func (c *Conversation) PolicyOf(i int) string {
	v := c.t.PolicyVersion
	if call := c.t.Messages[i].Call; call >= 0 && int(call) < len(c.t.Calls) && c.t.Calls[call].PolicyVersion != nil {
		v = c.t.Calls[call].PolicyVersion
	}
	return text.Or(v, "%d", "")
}

// NoLogprob reports whether a value stands for a log probability that is not known.
func NoLogprob(l float32) bool { return validate.Floored([]float32{l}) == 0 }

// breaks are the causes of prefix breaks that rollout records, with what they mean.
var breaks = map[string]string{
	"reasoning": "earlier reasoning was left out of the prompt",
	"arguments": "the arguments of an earlier tool call were rewritten",
	"content":   "the agent changed an earlier answer",
	"template":  "the chat template rendered the same messages otherwise",
	"unknown":   "the token ids of the earlier answer are not known",
}

// BreakWhy returns the cause of a prefix break, with what it means.
func BreakWhy(cause string) string {
	if why, known := breaks[cause]; known {
		return cause + ": " + why
	}
	return text.Name(cause)
}

// Fact is a value with its name.
type Fact struct{ Name, Value string }

// Facts returns what is known of the whole trajectory, besides its texts and whether it trains.
func (c *Conversation) Facts() []Fact {
	t := c.t
	branches := max(0, len(t.Leaves())-1)
	facts := []Fact{
		{"status", text.Name(t.Status) + ", " + text.Name(t.StopReason)},
		{"failure", text.Name(t.FailureClass)},
		{"example", text.Name(t.ExampleID)},
		{"epoch", fmt.Sprint(t.Epoch)},
		{"generation", fmt.Sprint(t.Generation)},
		{"model", cmp.Or(text.Name(t.Model), "-")},
		{"policy", text.Or(t.PolicyVersion, "%d", "-")},
		{"tokens", fmt.Sprintf("%d sampled, %d of prompts", t.SampledTokens, t.PromptTokens)},
		{"token ids", text.Name(t.TokenSource)},
		{"messages", plural.Of(len(t.Messages), "message") + ", " + plural.Of(len(t.Calls),
			"call") + ", " + plural.Of(branches, "branch")},
		{"reward", orNone(t.Reward, "")},
	}
	if t.ForkCall != nil {
		facts = append(facts, Fact{"forked from", fmt.Sprintf("%s, at call %d", t.ForkedFrom, *t.ForkCall)})
	}
	none := ""
	if g := c.Group; g != nil {
		none = g.NoAdvantage
		facts = append(facts, Fact{"group", g.summary()}, Fact{"estimator",
			text.Name(strings.TrimSpace(strings.TrimSuffix(g.Estimator+" "+g.Compat, " none")))})
	}
	facts = append(facts, Fact{"advantage", orNone(t.Advantage, none)})
	if c.Decision != nil {
		facts = append(facts, Fact{"rules", text.Name(strings.Join(c.Decision.Rules, ", "))})
	}
	return slices.DeleteFunc(facts, func(f Fact) bool { return f.Value == "" })
}

func orNone(v *float64, why string) string {
	if v == nil && why != "" {
		return "none: " + text.Name(why)
	}
	return text.Or(v, "%.6g", "-")
}
