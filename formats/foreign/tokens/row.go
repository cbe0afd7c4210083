package tokens

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	foreign "github.com/rollmill/rollmill/formats/foreign/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// row is a record by its fields, and what no field has.
type row struct {
	*importers.Record
	values map[string][]byte // other than null
	rest   importers.Metadata
}

func parse(record *importers.Record) ([]importers.Item, error) {
	r := &row{Record: record, values: map[string][]byte{}}
	for _, f := range value.Object(record, record.Data) {
		if string(f.Raw) != "null" {
			r.add(f.Key, f.Raw)
		}
	}
	if n := r.count("sequences"); n != nil && *n > 1 {
		must.Fail("it is one of %d sequences of a trajectory, and each would count as an attempt: export rows", *n)
	}
	s := &sequence{row: r}
	n := len(r.list(completionTokens, -1))
	if !r.has(completionTokens) {
		s.read()
		n = len(s.answers)
	} else if i := slices.IndexFunc(ofSequence, r.has); i >= 0 {
		must.Fail("column %q is of one sequence, but %q has calls", r.Column(ofSequence[i]), r.Column(completionTokens))
	}
	items, err := r.conversation(n)
	if err != nil {
		return nil, err
	}
	t := &items[0].Row
	removed := r.has("remove_sample") && r.flag("remove_sample", 0, r.values["remove_sample"])
	for i := range t.Calls {
		t.Calls[i].Target = t.Calls[i].Target && n > 0 && !removed
	}
	if len(s.answers) > 0 {
		s.fill(t)
	}
	return items, nil
}

// add adds a column to the fields that it is by --map, else to that of its own name, else to the rest.
func (r *row) add(key string, v []byte) {
	used, own := false, false
	for _, f := range fields {
		switch column, mapped := r.Mapped(f.Name); {
		case f.Word, f == importers.RoleField:
		case mapped && column == key:
			r.values[f.Name], used = v, true
		case !mapped && f.Name == key:
			own = true
		}
	}
	if own && key == messages {
		_, err := value.TokenIDs(v)
		own = err != nil // in what sequences exports these are indexes
	}
	switch {
	case used:
	case own:
		r.values[key] = v
	default:
		r.rest.Add(key, v)
	}
}

func (r *row) has(field string) bool { return r.values[field] != nil }

// count reads a field that is a whole number and not negative; nil without one.
func (r *row) count(field string) *int32 {
	n := must.Int32("column "+r.Column(field), []byte(value.Scalar(r.values[field])))
	if n != nil && *n < 0 {
		must.Fail("column %q is %d, which is negative", r.Column(field), *n)
	}
	return n
}

// flag reads a value of a mask.
func (r *row) flag(field string, i int, v []byte) bool {
	on, ok := value.Truth(v)
	if !ok {
		must.Fail("column %q: value %d is %s, not 0, 1, true or false", r.Column(field), i, importers.Brief(v))
	}
	return on
}

// conversation reads all but the ids, with so many answers if the row has no messages.
func (r *row) conversation(answers int) ([]importers.Item, error) {
	var o jsontext.Object
	for _, name := range ofChat {
		if r.has(name) {
			o.Set(name, r.values[name])
		}
	}
	if !r.has(messages) {
		o.Set(messages, value.Join(slices.Repeat([][]byte{[]byte(`{"role":"assistant","content":""}`)}, answers)))
	}
	roles := maps.Clone(cmp.Or(r.Options, &importers.Options{}).Map) // the columns have the fields' own names by now
	maps.DeleteFunc(roles, func(name, _ string) bool { return !importers.IsRole(name) })
	inner := *r.Record
	inner.Data, inner.Options = o.Bytes(), &importers.Options{Map: roles}
	items, err := foreign.Parse(&inner)
	if err == nil {
		r.Losses, r.Dropped = inner.Losses, inner.Dropped
		r.about(&items[0])
	}
	return items, err
}

// about sets what else the row says.
func (r *row) about(x *importers.Item) {
	x.Epoch = r.count("epoch")
	x.Attempt = must.Whole("column "+r.Column("attempt"), []byte(value.Scalar(r.values["attempt"])))
	if len(x.Row.Messages) == 0 && x.Row.ExampleID == "" { // no prompt tells it from others
		all := slices.Concat(r.values[inputIDs], r.values[promptIDs], r.values[responseIDs])
		x.Row.ExampleID = fmt.Sprintf("ids-%016x", xxh3.Hash(all))
	}
	r.status(&x.Row)
	r.rest.AddRest(jsontext.ParseObject([]byte(x.Row.Metadata)))
	x.Row.Metadata = r.rest.String()
}

// statuses are the failure classes of the words for a status.
var statuses = map[string]string{
	"": "", "completed": "", outcomes.StatusOK: "", outcomes.StatusTruncated: "",
	"aborted": outcomes.FailCancelled, "failed": outcomes.FailInternal, "pending": outcomes.FailUnfinished,
}

// status sets the status. A failure has no reward; the source's are kept in the metadata.
func (r *row) status(t *formats.Trajectory) {
	word := jsontext.AnyText(r.values["status"])
	switch failure, known := statuses[word]; {
	case !known:
		must.Fail("column %q is %q; known are completed, truncated, aborted, failed, pending", r.Column("status"), word)
	case word == outcomes.StatusTruncated:
		t.Status = word
	case failure != "":
		for _, field := range []string{reward, "rewards"} {
			r.rest.Add(r.Column(field), r.values[field])
		}
		t.Rewards = nil
		importers.Fail(t, failure, "the source has the status "+word)
	}
}
