package chat

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

type row struct {
	*importers.Record
	columns [numFields]column
	task    jsontext.Builder // of the example
	rest    jsontext.Builder // columns that are no fields
	hints   bool             // errors suggest columns
}

// column is a field's column. A value that was read is not metadata.
type column struct {
	name  string // "" for a field's own name
	value []byte // nil when it is missing or null
	alias bool
	read  bool
}

// byColumn finds the field of a column that --map does not name.
var byColumn = func() map[string]field {
	all := map[string]field{}
	for f := range fields {
		all[fields[f].name] = field(f)
		for _, a := range fields[f].aliases {
			all[a] = field(f)
		}
	}
	return all
}()

func (r *row) split() {
	value.Members(r.Record, func(key, v []byte) {
		if string(v) != "null" {
			r.add(key, v)
		}
	}, func() { *r = row{Record: r.Record, hints: r.hints} })
}

func (r *row) add(key, v []byte) {
	f, known := byColumn[string(key)]
	if r.Options != nil && len(r.Map) > 0 {
		if r.addMapped(key, v) {
			return
		}
		if known {
			_, mapped := r.Map[fields[f].name]
			known = !mapped
		}
	}
	switch {
	case known:
		r.set(f, key, v)
	case taskColumns[string(key)]:
		r.task.Set(string(key), v)
	default:
		if r.rest.Object == nil {
			r.rest.Object = make(jsontext.Object, 0, 4)
		}
		r.rest.Set(string(key), v)
	}
}

// addMapped adds a column to each field for which --map names it, and reports whether there is one.
func (r *row) addMapped(key, v []byte) bool {
	there := false
	for name, c := range r.Map {
		if f, ok := byColumn[name]; ok && c == string(key) && fields[f].name == name {
			r.columns[f] = column{name: c, value: v}
			there = true
		}
	}
	return there
}

// set adds a column under its own name, or as the alias of a field that has none.
func (r *row) set(f field, key, v []byte) {
	c := &r.columns[f]
	if string(key) == fields[f].name {
		if c.alias {
			r.rest.Set(c.name, c.value)
		}
		*c = column{value: v}
		return
	}
	if c.value != nil && c.name != string(key) {
		r.rest.Set(string(key), v)
		return
	}
	*c = column{name: string(key), value: v, alias: true}
}

// has reports whether a row has a value other than null for a field.
func (r *row) has(f field) bool { return r.columns[f].value != nil }

// take returns the value of a field, which then is no metadata.
func (r *row) take(f field) []byte {
	r.columns[f].read = true
	return r.columns[f].value
}

// name returns the column of a field, for messages.
func (r *row) name(f field) string { return cmp.Or(r.columns[f].name, fields[f].name) }

// in adds the column of a field to the error with which the function ends that defers it.
func (r *row) in(f field) {
	if v := recover(); v != nil {
		panic(importers.Placed(v, "column %q", r.name(f)))
	}
}

// text returns a column that is text, "" for one that is not, and which then is metadata.
func (r *row) text(f field) string {
	if v := r.columns[f].value; len(v) > 0 && v[0] == '"' {
		return jsontext.Unquote(r.take(f))
	}
	return ""
}

func (r *row) id(f field) string {
	text := value.ID(r.columns[f].value)
	r.columns[f].read = text != ""
	return text
}

// number returns a column that is a number. A column that is another value is
// metadata when it has an alias of the field as its name, since only the
// field's own name says what it must be.
func (r *row) number(f field) *float64 {
	c := &r.columns[f]
	if c.value == nil {
		return nil
	}
	x, err := value.Number(c.value)
	switch {
	case err == nil:
		c.read = true
	case !c.alias:
		must.Fail("column %q: %w", r.name(f), err)
	}
	return x
}

// example returns the columns of the task as an object, "" for none.
func (r *row) example() string {
	task := r.task
	for _, f := range []field{question, answer} {
		if r.has(f) {
			task.Set(fields[f].name, r.take(f))
		}
	}
	if len(task.Object) == 0 {
		return ""
	}
	return jsontext.Compact(task.Bytes())
}

// metadata returns the columns that nothing has read, under their own names.
func (r *row) metadata() (m importers.Metadata) {
	m.Grow(len(r.rest.Object))
	for _, c := range r.rest.Object {
		m.Add(c.Key, c.Raw)
	}
	for f := range r.columns {
		if c := &r.columns[f]; c.value != nil && !c.read {
			m.Add(r.name(field(f)), c.value)
		}
	}
	return m
}

// unknown returns the error about a row that has none of the columns that a shape needs.
func (r *row) unknown() error {
	have := Columns(r.Data)
	if len(have) == 0 {
		return errors.New("the row has no columns")
	}
	hint := ""
	if r.hints {
		hint = Nearest(r.Data)
	}
	known := "messages, prompt, completion, chosen and rejected, or text"
	return fmt.Errorf("the row has none of the columns %s; it has %s%s", known, strings.Join(have, ", "), hint)
}
