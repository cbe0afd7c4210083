package tokens

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// row is a record by its fields.
type row struct {
	*importers.Record
	values map[string][]byte // other than null
	rest   jsontext.Builder  // other columns
	meta   importers.Metadata
}

func parse(record *importers.Record) ([]importers.Item, error) {
	r := &row{Record: record}
	begin := func() { r.values, r.rest = map[string][]byte{}, jsontext.Builder{} }
	begin()
	value.Members(record, r.add, begin)
	if v := r.values[messages]; r.numbers(v) { // of rows that sequences exports
		delete(r.values, messages)
		r.rest.Set(messages, v)
	}
	items := make([]importers.Item, 1)
	x := &items[0]
	if n := r.whole(sequences); n != nil && *n > 1 {
		must.Fail("it is one of %d sequences of a trajectory, and each would count as an attempt; "+
			"export the trajectories as rows", *n)
	}
	answers := r.answers()
	if r.on(removeSample) {
		for i := range answers {
			answers[i].masked = true
		}
	}
	r.conversation(&x.Row, answers)
	r.ids(x)
	r.outcome(x)
	for _, column := range r.rest.Object {
		r.meta.Add(column.Key, column.Raw)
	}
	if name, mapped := r.Mapped(tokenizer); mapped {
		r.meta.Add(tokenizer, importers.Quote(name))
	}
	x.Row.Metadata = r.meta.String()
	return items, nil
}

// add adds a column to the fields that it is by --map, or else by its own name.
func (r *row) add(key, v []byte) {
	if string(v) == "null" {
		return
	}
	used, own := false, false
	for _, f := range fields {
		if column, mapped := r.Mapped(f.Name); f.Word || f == importers.RoleField {
			continue
		} else if mapped && column == string(key) {
			r.values[f.Name], used = v, true
		} else if !mapped && f.Name == string(key) {
			own = true
		}
	}
	if own && !used {
		r.values[string(key)] = v
	} else if !used {
		r.rest.Set(string(key), v)
	}
}

func (r *row) has(field string) bool { return r.values[field] != nil }

// numbers reports whether a value is a list of numbers, and no conversation.
func (r *row) numbers(v []byte) bool {
	_, bad := must.Numbers(v, must.TokenID)
	return len(v) > 0 && v[0] == '[' && bad == nil
}

// list returns the elements of a field that is a list, or text with one.
func (r *row) list(field string) [][]byte {
	v := r.values[field]
	text, err := value.Array(v)
	if err != nil {
		must.Fail("column %q: %w", r.Column(field), err)
	}
	return slices.Collect(jsontext.Elements([]byte(text)))
}

// each calls read with each element of a field that has one for each of some ids.
func (r *row) each(field string, ids int, of string, read func(i int, v []byte) bool, want string) {
	list := r.list(field)
	if len(list) != ids {
		must.Fail("column %q has %d values, and there are %d %s", r.Column(field), len(list), ids, of)
	}
	for i, v := range list {
		if !read(i, v) {
			must.Fail("column %q: value %d is %s, not %s", r.Column(field), i, importers.Brief(v), want)
		}
	}
}

func (r *row) whole(field string) *int64 {
	if v := r.values[field]; v != nil {
		n, err := strconv.ParseInt(strings.TrimSuffix(value.Scalar(v), ".0"), 10, 64)
		if err != nil {
			must.Fail("column %q is %s, not a whole number", r.Column(field), importers.Brief(v))
		}
		return &n
	}
	return nil
}

func (r *row) on(field string) bool {
	if !r.has(field) {
		return false
	}
	on, ok := value.Truth(r.values[field])
	if !ok {
		must.Fail("column %q is %s, neither true nor false", r.Column(field), importers.Brief(r.values[field]))
	}
	return on
}

// ids sets what names the row.
func (r *row) ids(x *importers.Item) {
	if v := r.values[id]; v != nil {
		x.Row.TrajectoryID = value.ID(v)
	}
	if v := r.values[exampleID]; v != nil {
		x.Row.ExampleID, x.NumberID = value.ID(v), v[0] != '"'
	} else if len(x.Row.Messages) == 0 { // no prompt tells it from other rows
		all := slices.Concat(r.values[inputIDs], r.values[promptIDs], r.values[responseIDs])
		x.Row.ExampleID = fmt.Sprintf("ids-%016x", xxh3.Hash(all))
	}
	if n := r.whole(epoch); n != nil {
		if *n < 0 || *n > 1<<31-1 {
			must.Fail("column %q is %d: there is no such epoch", r.Column(epoch), *n)
		}
		e := int32(*n)
		x.Epoch = &e
	}
	x.Attempt = r.whole(attempt)
}

// outcome sets the reward and the status. A failure has no reward; the source's is kept in the metadata.
func (r *row) outcome(x *importers.Item) {
	t := &x.Row
	if v := r.values[reward]; v != nil && v[0] == '{' {
		for name, v := range jsontext.Members(v) {
			t.Rewards = append(t.Rewards, formats.NamedReward{Name: string(name), Value: r.number(v), Weight: 1})
		}
	} else if v != nil {
		t.Reward = r.number(v)
	}
	if !r.has(status) {
		return
	}
	word := jsontext.AnyText(r.values[status])
	switch failure := failures[word]; {
	case failure != "":
		r.meta.Add(r.Column(reward), r.values[reward])
		t.Rewards = nil
		importers.Fail(t, failure, "the source has the status "+word)
	case word == outcomes.StatusTruncated:
		t.Status = outcomes.StatusTruncated
	case word != "completed" && word != outcomes.StatusOK:
		must.Fail("column %q is %q, which is not known: completed, truncated, aborted, failed, pending",
			r.Column(status), word)
	}
}

var failures = map[string]string{
	"aborted": outcomes.FailCancelled, "failed": outcomes.FailInternal, "pending": outcomes.FailUnfinished,
}

func (r *row) number(v []byte) *float64 {
	n, err := value.Number(v)
	if err != nil {
		must.Fail("column %q: %w", r.Column(reward), err)
	}
	return n
}
