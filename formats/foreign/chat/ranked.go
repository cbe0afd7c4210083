package chat

import (
	"cmp"
	"slices"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

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
