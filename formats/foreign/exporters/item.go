package exporters

import (
	"cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/formats/validate"
)

// Item is one element of a source.
type Item struct {
	Rows   []formats.Trajectory // of Groups, Rows and Top; of Pairs and Labels those that are compared
	Pair   trainset.Preference
	Single trainset.Unpaired

	Columns formats.FieldNames // of the examples, that have other names than the defaults
	Weights *sequences.Weights // of the batch's sequences; nil: each has the weight 1
	Tally   *sequences.Tally   // counts what goes into sequences and comes out; nil: nobody asks

	Before int64               // items before it in the file
	Given  int64               // rows before it in the file
	Skip   func(reason string) // reports why the item gives no row
	Drop   func(part string)   // reports a part of the row that the form cannot hold; nil when the caller does not ask

	memory *sequences.Memory // of the item's sequences

	// the findings with which rows are written all the same, and what the rows train
	Accept validate.Accepted
	Use    validate.Use
}

// Blocked returns the finding for which one of the item's rows is not written, "" for none.
func (x *Item) Blocked() string { return x.Accept.BlocksAny(x.Rows, x.Use) }

// Template returns messages for a chat template (chat.Template) with the reason
// why they cannot be written.
func (x *Item) Template(messages []chat.Message) ([]jsontext.Raw, string) {
	return chat.Template(messages, x.Given%2 == 0)
}

// Templates is Template of several lists of messages, with the first reason.
func (x *Item) Templates(lists ...[]chat.Message) (made [][]jsontext.Raw, reason string) {
	for _, messages := range lists {
		one, why := x.Template(messages)
		made, reason = append(made, one), cmp.Or(reason, why)
	}
	return made, reason
}

// Lose reports a part of the item's row that the form cannot hold.
func (x *Item) Lose(part string) {
	if x.Drop != nil {
		x.Drop(part)
	}
}

// One returns a function that makes a row from an item, or skips it for a reason.
func One[T any](row func(x *Item) (T, string)) func(*Item) []T {
	return func(x *Item) []T {
		r, reason := row(x)
		if reason == "" {
			reason = x.Blocked()
		}
		if reason != "" {
			x.Skip(reason)
			return nil
		}
		return []T{r}
	}
}

// noMessages is why a trajectory without messages is skipped.
const noMessages = "no_messages"

// EachRow returns a function that makes a row from each trajectory of an item that has messages.
func EachRow[T any](row func(t *formats.Trajectory, x *Item) T) func(*Item) []T {
	return func(x *Item) (out []T) {
		for i := range x.Rows {
			if len(x.Rows[i].Messages) == 0 {
				x.Skip(noMessages)
				continue
			}
			out = append(out, row(&x.Rows[i], x))
		}
		return out
	}
}

// Sequenced returns a function that makes rows from the sequences of each
// trajectory of an item. One that gives none is skipped with the reason, one of
// package sequences. rows returns none for a trajectory that its form cannot
// hold, and calls Skip; the rows are written before the next item.
func Sequenced[T any](rows func(x *Item, t *formats.Trajectory, list []sequences.Sequence) []T) func(*Item) []T {
	return func(x *Item) (out []T) {
		if x.memory == nil {
			x.memory = new(sequences.Memory)
		}
		for i := range x.Rows {
			list, problem := x.memory.Of(&x.Rows[i])
			if problem != nil {
				x.Skip(problem.Reason)
			} else if why := x.Accept.Blocks(&x.Rows[i], x.Use); why != "" {
				x.Skip(why)
				list = nil
			} else if made := rows(x, &x.Rows[i], list); len(made) > 0 {
				out = append(out, made...)
			} else {
				list = nil
			}
			x.Tally.Add(&x.Rows[i], list)
		}
		return out
	}
}
