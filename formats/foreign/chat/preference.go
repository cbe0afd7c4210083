package chat

import (
	"cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
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
