package tokens

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
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
		r.add(f.Key, f.Raw)
	}
	if n := r.number(sequences, 1<<31-1); n != nil && *n > 1 {
		must.Fail("it is one of %d sequences of a trajectory, and each would count as an attempt: export rows", *n)
	}
	var answers []answer
	n := r.calls()
	if n < 0 {
		answers = r.readSequence().answers(r)
		n = len(answers)
	}
	items, err := r.conversation(n)
	if err != nil {
		return nil, err
	}
	t := &items[0].Row
	removed, known := value.Truth(r.values[removeSample])
	if r.has(removeSample) && !known {
		must.Fail("column %q is %s, neither true nor false", r.Column(removeSample),
			importers.Brief(r.values[removeSample]))
	}
	for i := range t.Calls {
		t.Calls[i].Target = t.Calls[i].Target && n > 0 && !(removed && known)
	}
	if len(answers) > 0 && len(t.Calls) != len(answers) {
		must.Fail("the assistant has %d messages that are sampled, and the ids have %d answers", len(t.Calls),
			len(answers))
	}
	for i := range t.Messages {
		if m := &t.Messages[i]; m.Sampled && len(answers) > 0 {
			answers[m.Call].fill(t, m)
			t.TokenSource = r.Column(inputIDs)
		}
	}
	return items, nil
}

// add adds a column to the field that it is by --map, or else by its own name.
func (r *row) add(key string, v []byte) {
	if string(v) == "null" {
		return
	}
	used, own := false, false
	for _, f := range fields {
		if column, mapped := r.Mapped(f.Name); f.Word || f == importers.RoleField {
			continue
		} else if mapped && column == key {
			r.values[f.Name], used = v, true
		} else if !mapped && f.Name == key {
			own = true
		}
	}
	if _, bad := must.Numbers(v, must.TokenID); own && key == messages && v[0] == '[' && bad == nil {
		own = false // in what sequences exports these are indexes
	}
	if own && !used {
		r.values[key] = v
	} else if !used {
		r.rest.Add(key, v)
	}
}

func (r *row) has(field string) bool { return r.values[field] != nil }

// number reads a field that is a whole number up to a limit.
func (r *row) number(field string, limit int64) *int64 {
	v := r.values[field]
	n := must.Whole("column "+r.Column(field), []byte(value.Scalar(v)))
	if n != nil && (*n < 0 || *n > limit) {
		must.Fail("column %q is %s, which is too much or negative", r.Column(field), importers.Brief(v))
	}
	return n
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
	inner := *r.Record
	if inner.Data = o.Bytes(); r.Options != nil { // the other columns have the fields' own names by now
		roles := maps.Clone(r.Map)
		maps.DeleteFunc(roles, func(name, _ string) bool { return !importers.IsRole(name) })
		inner.Options = &importers.Options{Map: roles, Keep: r.Keep}
	}
	items, err := foreign.Parse(&inner)
	if err != nil {
		return nil, err
	}
	r.Losses, r.Dropped = inner.Losses, inner.Dropped
	r.about(&items[0])
	return items, nil
}

// about sets what else the row says.
func (r *row) about(x *importers.Item) {
	if n := r.number(epoch, 1<<31-1); n != nil {
		e := int32(*n)
		x.Epoch = &e
	}
	x.Attempt = r.number(attempt, 1<<62)
	if len(x.Row.Messages) == 0 && x.Row.ExampleID == "" { // no prompt tells it from others
		all := slices.Concat(r.values[inputIDs], r.values[promptIDs], r.values[responseIDs])
		x.Row.ExampleID = fmt.Sprintf("ids-%016x", xxh3.Hash(all))
	}
	r.status(&x.Row)
	if name, mapped := r.Mapped(tokenizer); mapped {
		r.rest.Add(tokenizer, importers.Quote(name))
	}
	r.rest.AddRest(jsontext.ParseObject([]byte(x.Row.Metadata)))
	x.Row.Metadata = r.rest.String()
}

var failures = map[string]string{
	"aborted": outcomes.FailCancelled, "failed": outcomes.FailInternal, "pending": outcomes.FailUnfinished,
}

// status sets the status. A failure has no reward; the source's is kept in the metadata.
func (r *row) status(t *formats.Trajectory) {
	word := jsontext.AnyText(r.values[status])
	switch failure := failures[word]; {
	case failure != "":
		r.rest.Add(r.Column(reward), r.values[reward])
		t.Rewards = nil
		importers.Fail(t, failure, "the source has the status "+word)
	case word == outcomes.StatusTruncated:
		t.Status = outcomes.StatusTruncated
	case r.has(status) && word != "completed" && word != outcomes.StatusOK:
		must.Fail("column %q is %q; known are completed, truncated, aborted, failed, pending", r.Column(status), word)
	}
}

// calls returns how many calls have lists of ids, -1 if the row is one sequence.
func (r *row) calls() int {
	if !r.has(completionTokens) {
		return -1
	}
	for _, field := range []string{inputIDs, promptIDs, responseIDs, lossMask, responseMask, responseLogprobs,
		attentionMask, versions} {
		if r.has(field) {
			must.Fail("column %q is of one sequence, but %q has calls", r.Column(field), r.Column(completionTokens))
		}
	}
	return len(r.list(completionTokens, -1))
}

// fill sets the columns of an answer and of its call.
func (a *answer) fill(t *formats.Trajectory, m *formats.Message) {
	call := &t.Calls[m.Call]
	m.TokenIDs, m.Logprobs = a.ids, a.logprobs
	m.PromptDeltaIDs, m.PrefixBreak = chat.PromptDelta(t.Messages, int(m.Parent), a.prompt, nil)
	call.PromptTokens, call.CompletionTokens = int32(len(a.prompt)), int32(len(a.ids))
	if a.version != nil {
		call.PolicyVersion = a.version
	}
}
