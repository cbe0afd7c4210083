package page

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// Branch is a run of messages that are shown together, each after the one before it.
type Branch struct {
	Depth    int
	Messages string // ranges
	Why      string
	Of       int // messages
	Trained  int // of these
	URL      string
}

// BranchesOf returns the branches of a tree, in the order of its messages; url
// returns the link to the message at a place.
func BranchesOf(t *formats.Trajectory, places []model.Place, url func(at int) string) (out []Branch) {
	for at := 0; at < len(places); {
		b := Branch{Depth: places[at].Depth, Why: model.BranchOf(t, model.Place{Number: places[at].Number, After: -1}), URL: url(at)}
		switch p := t.Messages[places[at].Number].Parent; {
		case at == 0:
			b.Why = "main path"
		case b.Why == "":
			b.Why = fmt.Sprintf("after message %d", p)
		}
		var list []int
		for first := at; at < len(places) &&
			(at == first || places[at].Depth == b.Depth &&
				int(t.Messages[places[at].Number].Parent) == places[at-1].Number); at++ {
			list = append(list, places[at].Number)
			if t.Trained(places[at].Number) {
				b.Trained++
			}
		}
		b.Messages, b.Of = plural.Numbers(list), len(list)
		out = append(out, b)
	}
	return out
}

// OutlineItem is a message in the outline of a conversation.
type OutlineItem struct {
	Anchor        string // what precedes its number in the id of the message: that of the trajectory, on a page of several
	Number, Depth int
	Role, Tool    string   // Tool: the tools that it calls, or whose result it is
	Tokens        int      // sampled
	Reward        *float64 // of the step, nil if it is not known
	Sampled       bool
	Break         bool // its prompt does not continue the tokens before it
}

// OutlineOf returns the outline of messages in the order in which they are shown.
func OutlineOf(t *formats.Trajectory, shown []model.Place, steps map[int]float64) (out []OutlineItem) {
	tools := map[string]string{} // names by id of a call
	for i := range t.Messages {
		for _, c := range t.Messages[i].ToolCalls {
			tools[c.ID] = c.Name
		}
	}
	for _, at := range shown {
		m := &t.Messages[at.Number]
		o := OutlineItem{Number: at.Number, Depth: min(at.Depth, 6), Role: text.Name(m.Role), Sampled: m.Sampled,
			Tokens: max(len(m.TokenIDs), len(m.Logprobs)), Break: m.PrefixBreak != ""}
		names := []string{cmp.Or(m.Name, tools[m.ToolCallID])}
		for _, c := range m.ToolCalls {
			names = append(names, c.Name)
		}
		o.Tool = text.Name(strings.TrimSpace(strings.Join(names, " ")))
		if r, known := steps[at.Number]; known {
			o.Reward = &r
		}
		out = append(out, o)
	}
	return out
}

// StepRewards returns the shaped rewards by message: there is one for each message of the
// main path that the model wrote. It returns nil if their numbers differ.
func StepRewards(t *formats.Trajectory) map[int]float64 {
	out := map[int]float64{}
	for _, i := range t.Main() {
		if n := len(out); t.Messages[i].Sampled && n < len(t.ShapedRewards) {
			out[i] = t.ShapedRewards[n]
		} else if t.Messages[i].Sampled {
			return nil
		}
	}
	if len(out) < len(t.ShapedRewards) {
		return nil
	}
	return out
}
