package witness

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/tree"
)

// item is a message of an attempt.
type item struct {
	*formats.Message
	call   formats.Call // of an answer; its counts are 0 where the record has none
	key    uint64       // of what it says, and of the answer that others than the model say it to
	sort   string
	number int  // among the answers of its sort, from 1; of other messages that of the answer before them
	after  int  // the item of that answer; -1
	again  bool // the answer before or after this one is the same
}

// What an item is.
const (
	answers   = "answers"
	calls     = "calls"           // answers as something that a record has or lacks
	auxiliary = "auxiliary calls" // of a sub-agent, or that do not train beside others that do
	retries   = "retries"         // answers that the agent did not go on from
	prompts   = "prompts"
	systems   = "system prompts"
	results   = "tool results"
)

// sorts are those of roles, but for prompts.
var sorts = map[string]string{"tool": results, "function": results, "system": systems, "developer": systems}

func (x *item) isAnswer() bool { return x.sort == answers || x.sort == auxiliary || x.sort == retries }

// inMain reports whether it is of the main conversation.
func (x *item) inMain() bool { return x.sort != auxiliary && x.sort != retries }

func (x *item) text() string { return strings.TrimSpace(chat.ContentText(x.Message)) }

func (x *item) place() string {
	what := map[string]string{answers: "turn", auxiliary: "auxiliary call", retries: "retry"}[x.sort]
	if what == "" && x.number == 0 {
		return x.Role + ": "
	}
	return fmt.Sprintf("%s %d: ", cmp.Or(what, x.Role+" after turn"), x.number)
}

// itemsOf returns the answers of a row and the other messages of its main path, in order, and then the
// answers that the agent discarded. An answer that was not sampled counts as a prompt.
func itemsOf(t *formats.Trajectory) (all []item) {
	target := slices.ContainsFunc(t.Calls, func(c formats.Call) bool { return c.Target })
	path, begun := map[int]bool{}, "" // why the main path begins
	for n, i := range t.Main() {
		if path[i] = true; n == 0 {
			begun = t.Messages[i].Branch
		}
	}
	side, numbers, last, before := make([]bool, len(t.Messages)), map[string]int{}, -1, uint64(0)
	add := func(m *formats.Message, call formats.Call, sort string) {
		x := item{Message: m, call: call, key: tree.AnswerKey(m), sort: sort, number: numbers[answers], after: last}
		if x.isAnswer() {
			numbers[sort]++
			x.number = numbers[sort]
		} else if m.Role != "assistant" {
			x.key += 31*before + 1 // no answer's
		}
		if sort == answers {
			if last >= 0 && before == x.key {
				x.again, all[last].again = true, true
			}
			last, before = len(all), x.key
		}
		all = append(all, x)
	}
	for i := range t.Messages {
		m := &t.Messages[i]
		p := int(m.Parent)
		root := p < 0 || p >= i
		// what comes before a conversation that another program would begin is not a part of it
		side[i] = !root && side[p] || !path[i] && (m.Branch == tree.BranchSubagent || root && m.Branch == "" && begun == tree.BranchSubagent)
		call := formats.Call{}
		if 0 <= m.Call && int(m.Call) < len(t.Calls) {
			call = t.Calls[m.Call]
		}
		switch {
		case m.Sampled && (side[i] || target && !call.Target):
			add(m, call, auxiliary)
		case m.Sampled:
			add(m, call, answers)
		case path[i]:
			add(m, call, cmp.Or(sorts[m.Role], prompts))
		}
	}
	for _, c := range t.Candidates {
		if c.Reason == outcomes.CandidateAlternative || c.Reason == outcomes.CandidateRetried {
			m := &formats.Message{Content: c.Content, ToolCalls: c.ToolCalls, TokenIDs: c.TokenIDs, Logprobs: c.Logprobs}
			add(m, formats.Call{}, retries)
		}
	}
	return all
}
