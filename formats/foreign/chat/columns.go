package chat

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/validate"
)

// row is a row that is being read.
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

// addMapped adds a column to each field for which --map names it, and reports
// whether there is one.
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

// set adds a column under its own name, or as the alias of a field that has
// none.
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

// text returns a column that is text, "" for one that is not, and which then is
// metadata.
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

// unknown returns the error about a row that has none of the columns that a
// shape needs.
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

// Columns returns the names of the columns of a row.
func Columns(row []byte) (names []string) {
	for key := range jsontext.Members(row) {
		names = append(names, string(key))
	}
	return names
}

// similar are names of columns that other programs use for a field.
var similar = map[field][]string{
	messages:   {"message", "dialog", "dialogue", "dialogs", "chat", "turns", "thread", "history", "data"},
	prompt:     {"prompts", "question", "query", "instruction", "input", "problem", "user", "request"},
	completion: {"completions", "response", "answer", "output", "assistant", "reply", "solution", "generation", "target"},
	chosen:     {"accepted", "preferred", "win", "better", "chosen_response", "response_chosen"},
	rejected:   {"dispreferred", "lose", "worse", "rejected_response", "response_rejected"},
	text:       {"content", "document"},
}

// Nearest suggests columns of a row for fields, as the end of a message: a list
// of messages, else columns with names that are usual for a field. It suggests nothing
// with which the row would lose something that changes what trains.
func Nearest(row []byte) string {
	if isEvent(row) {
		return ofEvents
	}
	for key, v := range jsontext.Members(row) {
		if k := string(key); slices.Contains(speakers, k) {
			return " (the row is a message: write a row for each conversation, with a list of its messages)"
		} else if path := messagesIn(k, v, 3); path != "" && whole(row, map[string]string{"messages": path}) {
			return fmt.Sprintf(" (try --map messages=%s)", path)
		}
	}
	for _, fs := range [][]field{{messages}, {chosen, rejected}, {prompt, completion}, {text}} {
		var found []string
		columns := map[string]string{}
		for _, f := range fs {
			for key := range jsontext.Members(row) {
				if k := strings.ToLower(string(key)); k == fields[f].name || slices.Contains(similar[f], k) {
					found = append(found, fmt.Sprintf("--map %s=%s", fields[f].name, key))
					columns[fields[f].name] = string(key)
					break
				}
			}
		}
		if len(found) > 0 && whole(row, columns) {
			return " (try " + strings.Join(found, " ") + ")"
		}
	}
	return " (name them with --map NAME=COLUMN)"
}

// speakers are columns that say who says a row.
var speakers = []string{"role", "from", "speaker", "sender", "author_role", "tool_call_id"}

// ofEvents is the hint for the event logs of OpenHands, which say what its agent did and not
// what its model was asked.
const ofEvents = " (an event of OpenHands: import the calls of its model, which it writes with log_completions, " +
	"with --map prompt=messages --map completion=response.choices.message)"

func isEvent(row []byte) bool {
	o := jsontext.ParseObject(row)
	return o.Has("source") && (o.Has("action") || o.Has("observation") || o.Has("llm_message") ||
		strings.HasSuffix(jsontext.Unquote(o.Get("kind")), "Event"))
}

// messagesIn returns the path of a list of messages within a column, "" for none.
func messagesIn(path string, v []byte, depth int) string {
	if depth == 0 || isMessages(v) {
		return path[:len(path)*min(depth, 1)]
	}
	for e := range jsontext.Elements(v) {
		v = e
		break
	}
	for key, inner := range jsontext.Members(v) {
		if found := messagesIn(path+"."+string(key), inner, depth-1); found != "" {
			return found
		}
	}
	return ""
}

// whole reports whether all of a row that changes what trains is read, with these columns
// for fields.
func whole(row []byte, columns map[string]string) bool {
	f := importers.Format{Columns: true}.ParsedBy(func(r *importers.Record) ([]importers.Item, error) { return parse(r, false) })
	options := &importers.Options{Map: columns}
	for piece := range options.Pieces(row) {
		row = piece
		break
	}
	p := f.Convert(importers.Record{Data: row, Options: options})
	for i := range p.Items {
		if validate.Accepted(nil).Unread(&p.Items[i].Row) != "" {
			return false
		}
	}
	return p.Err == nil && len(p.Losses) == 0
}

// isMessages reports whether a list has messages: its first element is an object
// with a role.
func isMessages(list []byte) bool {
	for e := range jsontext.Elements(list) {
		for key := range jsontext.Members(e) {
			if k := string(key); k == "role" || k == "from" {
				return true
			}
		}
		return false
	}
	return false
}
