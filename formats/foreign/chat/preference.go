package chat

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/value"
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

// preference reads two answers to a prompt, which is a column, or what the two
// have in common.
func (r *row) preference() ([]importers.Item, error) {
	before, answers, err := r.answers()
	if err != nil {
		return nil, err
	}
	items := make([]importers.Item, 2)
	var readers [2]Reader
	shared := r.id(id)
	for i, s := range sides {
		c, x := &readers[i], &items[i]
		if err := r.start(c); err != nil {
			return nil, err
		}
		c.Call.Model = cmp.Or(r.text(s.model), c.Call.Model)
		if err := r.answerOf(c, before, answers[i], s); err != nil {
			return nil, err
		}
		x.Pair = s.pair
		if x.Row.TrajectoryID = r.id(s.id); x.Row.TrajectoryID == "" && shared != "" {
			x.Row.TrajectoryID = shared + "/" + string(s.pair)
		}
		c.Into(&x.Row)
	}
	if err := r.scores(items); err != nil {
		return nil, err
	}
	for i := range items {
		r.finish(&items[i], &readers[i])
	}
	return items, nil
}

// part is the messages of a part of a conversation: a list, or text.
type part struct {
	list []byte
	text string
	from int // how many messages of the list belong to the prompt
}

// answers returns the prompt, and the two answers, which may contain it.
func (r *row) answers() (before part, answers [2]part, err error) {
	for i, s := range sides {
		v := r.take(s.answer)
		if answers[i].list, answers[i].text, err = listOf(r.Record, v); err != nil {
			return before, answers, fmt.Errorf("column %q: %w", r.name(s.answer), err)
		}
	}
	r.request()
	if (answers[0].list == nil) != (answers[1].list == nil) {
		return before, answers, fmt.Errorf("of %q and %q, one is text and the other messages", r.name(chosen),
			r.name(rejected))
	}
	if !r.has(prompt) {
		return implicit(answers)
	}
	if before.list, before.text, err = listOf(r.Record, r.take(prompt)); err != nil {
		return before, answers, fmt.Errorf("column %q: %w", r.name(prompt), err)
	}
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
func (r *row) explicit(before part, answers [2]part) (part, [2]part, error) {
	if answers[0].list == nil {
		return before, answers, nil
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
	return before, answers, nil
}

// repeats returns how many messages at the beginning of a list are the prompt: a
// user's message with its text, after system prompts; 0 when they are not.
func (r *row) repeats(list [][]byte, prompt string) int {
	c := Reader{Record: r.Record}
	for i, raw := range list {
		if c.AddMessage(raw, false) != nil {
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

// implicit finds the prompt that the answers have in common.
func implicit(answers [2]part) (before part, _ [2]part, err error) {
	if answers[0].list == nil {
		return commonText(answers)
	}
	a, b := elements(answers[0].list), elements(answers[1].list)
	n := 0
	for n < min(len(a), len(b)) && same(a[n], b[n]) {
		n++
	}
	if n == len(a) || n == len(b) { // one continues the other: the last message of the shorter one is its answer
		n = max(0, min(len(a), len(b))-1)
	}
	answers[0].from, answers[1].from = n, n
	return before, answers, nil
}

// commonText splits texts: dialogues with "Human:" and "Assistant:" into their
// turns, others where they begin to differ, before the space of the word.
func commonText(answers [2]part) (before part, _ [2]part, err error) {
	a, b := dialogue(answers[0].text), dialogue(answers[1].text)
	if a != nil && b != nil {
		answers[0], answers[1] = part{list: a}, part{list: b}
		return implicit(answers)
	}
	x, y := answers[0].text, answers[1].text
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	for n > 0 && n < len(x) && !utf8.RuneStart(x[n]) {
		n--
	}
	if n > 0 && x[n-1] == ' ' {
		n--
	}
	before.text, answers[0].text, answers[1].text = x[:n], x[n:], y[n:]
	return before, answers, nil
}

// dialogue returns the turns of a text in the manner of hh-rlhf as a list of
// messages, nil for other text.
func dialogue(text string) []byte {
	const human, assistant = "\n\nHuman:", "\n\nAssistant:"
	if !strings.HasPrefix(text, human) {
		return nil
	}
	var list [][]byte
	for len(text) > 0 {
		role, mark := "user", human
		if strings.HasPrefix(text, assistant) {
			role, mark = "assistant", assistant
		}
		text = text[len(mark):]
		end := len(text)
		for _, next := range []string{human, assistant} {
			if i := strings.Index(text, next); i >= 0 {
				end = min(end, i)
			}
		}
		list = append(list, said(role, importers.Quote(strings.TrimSpace(text[:end]))))
		text = text[end:]
	}
	return value.Join(list)
}

// answerOf adds the prompt and an answer to a conversation.
func (r *row) answerOf(c *Reader, before, answer part, s side) error {
	if answer.list != nil && len(elements(answer.list)) == answer.from {
		return fmt.Errorf("column %q has no answer", r.name(s.answer))
	}
	if before.list != nil || before.text != "" {
		if err := r.before(c); err != nil {
			return err
		}
	}
	if before.list != nil {
		if err := c.Add(before.list, false); err != nil {
			return fmt.Errorf("column %q: %w", r.name(prompt), err)
		}
	} else if before.text != "" {
		c.AddText("user", before.text, false)
	}
	if answer.list == nil {
		c.AddText("assistant", answer.text, true)
		return nil
	}
	for i, raw := range elements(answer.list) {
		if err := c.AddMessage(raw, i >= answer.from); err != nil {
			return fmt.Errorf("column %q: message %d: %w", r.name(s.answer), i, err)
		}
	}
	return nil
}

// scores sets the rewards of a pair: the scores of the source, else 1 and 0.
// With scores the preference has no weight in the reward.
func (r *row) scores(items []importers.Item) error {
	var scores [2]*float64
	for i, s := range sides {
		var err error
		if scores[i], err = r.number(s.score); err != nil {
			return err
		}
	}
	both := scores[0] != nil && scores[1] != nil
	for i, s := range sides {
		t := &items[i].Row
		reward := s.reward
		if !both {
			give(t, "preference", reward)
			continue
		}
		give(t, "score", *scores[i])
		t.Rewards = append(t.Rewards, formats.NamedReward{Name: "preference", Value: &reward})
	}
	if !both {
		r.columns[scoreChosen].read, r.columns[scoreRejected].read = false, false
	}
	return nil
}

// ranked reads a prompt with ranked completions, of which 0 is the best. The
// best and the worst are a pair; rewards go from 1 to 0 by rank.
func (r *row) ranked() ([]importers.Item, error) {
	list := elements(r.take(completions))
	if len(list) == 0 {
		return nil, fmt.Errorf("column %q is %s, not a list of completions", r.name(completions),
			importers.Brief(r.columns[completions].value))
	}
	items, readers, ranks := make([]importers.Item, len(list)), make([]Reader, len(list)), make([]float64, len(list))
	order := make([]int, len(list))
	for i, raw := range list {
		order[i] = i
		if err := r.begin(&readers[i], context, false); err != nil {
			return nil, err
		}
		rank, err := readers[i].completion(raw)
		if err != nil {
			return nil, fmt.Errorf("column %q: completion %d: %w", r.name(completions), i, err)
		}
		ranks[i] = rank
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ranks[a], ranks[b]) })
	best, worst := ranks[order[0]], ranks[order[len(order)-1]]
	if best < worst { // the worst follows the best
		order = slices.Insert(order[:len(order)-1], 1, order[len(order)-1])
		items[0].Pair, items[1].Pair = importers.Chosen, importers.Rejected
	}
	for at, i := range order {
		x := &items[at]
		if best < worst {
			give(&x.Row, "preference", (worst-ranks[i])/(worst-best))
		}
		readers[i].Into(&x.Row)
		r.finish(x, &readers[i])
	}
	return items, nil
}

// completion adds {"rank": 0, "completion": [messages]}.
func (c *Reader) completion(raw []byte) (rank float64, err error) {
	o := jsontext.ParseObject(raw)
	x, err := value.Number(o.Get("rank"))
	if err != nil || x == nil {
		return 0, fmt.Errorf("its rank is %s, not a number", importers.Brief(o.Get("rank")))
	}
	v := o.Get("completion")
	if len(v) == 0 {
		return 0, fmt.Errorf("it has no completion")
	}
	list, plain, err := listOf(c.Record, v)
	switch {
	case err != nil:
		return 0, err
	case list == nil:
		c.AddText("assistant", plain, true)
	default:
		err = c.Add(list, true)
	}
	for _, m := range o {
		if m.Key != "rank" && m.Key != "completion" && string(m.Raw) != "null" {
			c.other = append(c.other, member{len(c.Messages) - 1, m.Key, m.Raw})
		}
	}
	return *x, err
}

// elements returns the elements of a list.
func elements(list []byte) [][]byte { return slices.Collect(jsontext.Elements(list)) }

// sameJSON reports whether values are equal but for space.
func sameJSON(a, b []byte) bool {
	return string(a) == string(b) || jsontext.Compact(a) == jsontext.Compact(b)
}

// same reports whether messages are equal, whatever the order of their members.
func same(a, b []byte) bool {
	if string(a) == string(b) {
		return true
	}
	var x, y Reader
	if x.AddMessage(a, false) != nil || y.AddMessage(b, false) != nil || len(x.other) != len(y.other) {
		return false
	}
	for i := range x.other {
		if x.other[i].key != y.other[i].key || string(x.other[i].value) != string(y.other[i].value) {
			return false
		}
	}
	return reflect.DeepEqual(x.Messages, y.Messages)
}
