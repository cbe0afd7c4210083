package chat

import (
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// side is an answer of a preference.
type side struct {
	pair             importers.PairSide
	answer           field
	id, model, score field
	reward           float64
}

var sides = [2]side{
	{importers.Chosen, chosen, chosenID, chosenModel, scoreChosen, 1},
	{importers.Rejected, rejected, rejectedID, rejectedModel, scoreRejected, 0},
}

// answers returns the prompt, and the two answers, which may contain it.
func (r *row) answers() (before part, answers [2]part) {
	for i, s := range sides {
		answers[i].list, answers[i].text = r.listOf(s.answer)
	}
	r.request()
	if (answers[0].list == nil) != (answers[1].list == nil) {
		must.Fail("of %q and %q, one is text and the other messages", r.name(chosen), r.name(rejected))
	}
	if !r.has(prompt) {
		return implicit(answers)
	}
	before.list, before.text = r.listOf(prompt)
	return r.explicit(before, answers)
}

// request finds the prompt of a row without such a column: in the messages, as
// preferences of ShareGPT have it, or in the request that OpenAI's have.
func (r *row) request() {
	if v := r.columns[messages].value; v != nil {
		if sameJSON(v, r.columns[chosen].value) {
			r.take(messages) // again, as in datasets that are also for SFT
		} else if !r.has(prompt) {
			r.columns[prompt] = column{name: r.name(messages), value: r.take(messages)}
		}
	}
	if v := r.columns[input].value; r.has(prompt) || len(v) == 0 || v[0] != '{' {
		return
	}
	var rest jsontext.Builder
	for key, v := range jsontext.Members(r.take(input)) {
		switch {
		case string(v) == "null":
		case string(key) == "messages":
			r.columns[prompt] = column{name: "input.messages", value: v}
		case string(key) == "tools" && !r.has(tools):
			r.columns[tools] = column{name: "input.tools", value: v}
		case string(key) == "parallel_tool_calls":
			r.columns[parallelToolCalls] = column{name: "input.parallel_tool_calls", value: v}
		default:
			rest.Set(string(key), v)
		}
	}
	if len(rest.Object) > 0 {
		r.rest.Set("input", rest.Bytes())
	}
}

// explicit finds the prompt in answers that repeat it, as many datasets do.
func (r *row) explicit(before part, answers [2]part) (part, [2]part) {
	if answers[0].list == nil {
		return before, answers
	}
	prompt := elements(before.list)
	for i := range answers {
		list := elements(answers[i].list)
		switch {
		case before.list != nil && len(prompt) > 0 && len(list) > len(prompt) &&
			slices.EqualFunc(prompt, list[:len(prompt)], same):
			answers[i].from = len(prompt)
		case before.list == nil:
			answers[i].from = r.repeats(list, before.text)
		}
	}
	if answers[0].from > 0 && answers[1].from == answers[0].from {
		before = part{}
	} else {
		answers[0].from, answers[1].from = 0, 0
	}
	return before, answers
}

// repeats returns how many messages at the beginning of a list are the prompt: a
// user's message with its text, after system prompts; 0 when they are not.
func (r *row) repeats(list [][]byte, prompt string) int {
	c := Reader{Record: r.Record}
	for i, raw := range list {
		if !c.reads(raw) {
			return 0
		}
		switch m := c.Messages[i]; {
		case m.Role == "system":
		case m.Role == "user" && strings.TrimSpace(m.Content) == strings.TrimSpace(prompt) && i+1 < len(list):
			return i + 1
		default:
			return 0
		}
	}
	return 0
}
