package chat

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
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

// preference reads two answers to a prompt, which is a column, or what the two have in common.
func (r *row) preference() []importers.Item {
	before, answers := r.answers()
	items := make([]importers.Item, 2)
	var readers [2]Reader
	shared := r.id(id)
	for i, s := range sides {
		c, x := &readers[i], &items[i]
		r.start(c)
		c.Call.Model = cmp.Or(r.text(s.model), c.Call.Model)
		r.answerOf(c, before, answers[i], s)
		x.Pair = s.pair
		if x.Row.TrajectoryID = r.id(s.id); x.Row.TrajectoryID == "" && shared != "" {
			x.Row.TrajectoryID = shared + "/" + string(s.pair)
		}
		c.Into(&x.Row)
	}
	r.scores(items)
	for i := range items {
		r.finish(&items[i], &readers[i])
	}
	return items
}

// part is the messages of a part of a conversation: a list, or text.
type part struct {
	list []byte
	text string
	from int // how many messages of the list belong to the prompt
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

// implicit finds the prompt that the answers have in common.
func implicit(answers [2]part) (before part, _ [2]part) {
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
	return before, answers
}

// commonText splits texts: dialogues with "Human:" and "Assistant:" into their
// turns, others where they begin to differ, before the space of the word.
func commonText(answers [2]part) (before part, _ [2]part) {
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
	return before, answers
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
func (r *row) answerOf(c *Reader, before, answer part, s side) {
	if answer.list != nil && len(elements(answer.list)) == answer.from {
		must.Fail("column %q has no answer", r.name(s.answer))
	}
	if before.list != nil || before.text != "" {
		r.before(c)
	}
	if before.list != nil {
		r.within(prompt, func() { c.Add(before.list, false) })
	} else if before.text != "" {
		c.AddText("user", before.text, false)
	}
	if answer.list == nil {
		c.AddText("assistant", answer.text, true)
	} else {
		r.within(s.answer, func() { c.add(elements(answer.list), answer.from) })
	}
}

func (r *row) within(f field, read func()) {
	defer r.in(f)
	read()
}

// scores sets the rewards of a pair: the scores of the source, else 1 and 0.
// With scores the preference has no weight in the reward.
func (r *row) scores(items []importers.Item) {
	scores := [2]*float64{r.number(scoreChosen), r.number(scoreRejected)}
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
}

// ranked reads a prompt with ranked completions, of which 0 is the best. The
// best and the worst are a pair; rewards go from 1 to 0 by rank.
func (r *row) ranked() []importers.Item {
	list := elements(r.take(completions))
	if len(list) == 0 {
		must.Fail("column %q is %s, not a list of completions", r.name(completions),
			importers.Brief(r.columns[completions].value))
	}
	items, readers, ranks := make([]importers.Item, len(list)), make([]Reader, len(list)), make([]float64, len(list))
	order := make([]int, len(list))
	for i, raw := range list {
		order[i] = i
		r.begin(&readers[i], context, false)
		ranks[i] = r.completion(&readers[i], i, raw)
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
	return items
}

// completion adds {"rank": 0, "completion": [messages]}, the i-th of a row.
func (r *row) completion(c *Reader, i int, raw []byte) (rank float64) {
	defer must.At("column %q: completion %d", r.name(completions), i)
	o := jsontext.ParseObject(raw)
	x, err := value.Number(o.Get("rank"))
	if err != nil || x == nil {
		must.Fail("its rank is %s, not a number", importers.Brief(o.Get("rank")))
	}
	v := o.Get("completion")
	if len(v) == 0 {
		must.Fail("it has no completion")
	}
	list, plain := listOf(c.Record, v)
	if list == nil {
		c.AddText("assistant", plain, true)
	} else {
		c.Add(list, true)
	}
	for _, m := range value.Without(o, "rank", "completion") {
		c.other = append(c.other, member{len(c.Messages) - 1, m.Key, m.Raw})
	}
	return *x
}

// reads adds a message as input, and reports whether it is one.
func (c *Reader) reads(raw []byte) bool { return must.Try(func() { c.AddMessage(raw, false) }) }

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
	if !x.reads(a) || !y.reads(b) || len(x.other) != len(y.other) {
		return false
	}
	for i := range x.other {
		if x.other[i].key != y.other[i].key || string(x.other[i].value) != string(y.other[i].value) {
			return false
		}
	}
	return reflect.DeepEqual(x.Messages, y.Messages)
}
