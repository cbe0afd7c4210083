package chat

import (
	"cmp"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

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
