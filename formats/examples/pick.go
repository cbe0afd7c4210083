package examples

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/rollmill/rollmill/formats"
)

// picker turns rows into examples, in the harness's order of steps: filters,
// duplicate ids, blank questions. Ids wait for the last row, since a generated
// id must not take one that a later row brings.
type picker struct {
	name    string
	o       Options
	filters []filter
	report  Report
	rows    []picked
	columns map[string]bool
	ids     struct{ text, number, missing int }
	short   int
	done    int // rows with a generated answer
}

type picked struct {
	formats.Example
	hasID    bool
	blank    bool
	refusals []int // filters that would refuse it
}

func newPicker(name string, o Options) (*picker, error) {
	o.Names.ID = cmp.Or(o.Names.ID, "id")
	o.Names.Question = cmp.Or(o.Names.Question, "question")
	o.Names.Answer = cmp.Or(o.Names.Answer, "answer")
	o.Names.GeneratedAnswer = cmp.Or(o.Names.GeneratedAnswer, "generated_answer")
	filters, err := newFilters(name, o)
	return &picker{name: name, o: o, filters: filters, columns: map[string]bool{}}, err
}

// add takes one row in.
func (p *picker) add(l line) error {
	row := p.report.Rows
	p.report.Rows++
	values, keys, err := fields(l.object)
	if err != nil {
		if l.number > 0 {
			err = fmt.Errorf("line %d: %w", l.number, err)
		}
		return invalid(p.name, row, err, "the row is not a JSON object")
	}
	for _, k := range keys {
		if !p.columns[k] {
			p.columns[k] = true
			p.report.Columns = append(p.report.Columns, k)
		}
	}
	if l.short {
		p.short++
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, l.object); err != nil {
		return invalid(p.name, row, err, "the row is not JSON")
	}
	e := picked{Example: formats.Example{Row: row, Fields: compact.Bytes()}}
	e.ID, e.hasID = p.id(values[p.o.Names.ID])
	if p.o.Unstructured {
		e.Question = string(e.Fields)
	} else {
		e.Question = Text(values[p.o.Names.Question])
		e.Answer = Text(values[p.o.Names.Answer])
		e.GeneratedAnswer = Text(values[p.o.Names.GeneratedAnswer])
	}
	if e.GeneratedAnswer != "" {
		p.done++
	}
	e.blank = strings.TrimSpace(e.Question) == ""
	e.refusals = refusals(p.filters, values)
	p.rows = append(p.rows, e)
	return nil
}

// wholeFloat is how a numeric id looks after a table held it as a float.
var wholeFloat = regexp.MustCompile(`^-?[0-9]+\.0$`)

// id is the row's id as a string. A whole number written as a float loses its
// ".0", so that ids survive tools that read number columns as floats; a text
// such as "v1.0" keeps it.
func (p *picker) id(v json.RawMessage) (string, bool) {
	id := strings.TrimSpace(Text(v))
	switch {
	case id == "":
		p.ids.missing++
		return "", false
	case v[0] == '"':
		p.ids.text++
	default:
		p.ids.number++
	}
	if wholeFloat.MatchString(id) {
		id = strings.TrimSuffix(id, ".0")
	}
	return id, true
}

// finish drops rows and names the nameless.
func (p *picker) finish() ([]formats.Example, Report, error) {
	if err := p.requireQuestion(); err != nil {
		return nil, p.report, err
	}
	taken := map[string]bool{}
	for _, e := range p.rows {
		taken[e.ID] = taken[e.ID] || e.hasID
	}
	seen := map[string]int{}
	out := make([]formats.Example, 0, len(p.rows))
	for _, e := range p.rows {
		if !e.hasID {
			e.ID = freeID(e.Row, taken)
		}
		first, dup := seen[e.ID]
		switch by := p.refusedBy(e.refusals); {
		case by != "":
			p.drop(e, DropFiltered, by)
			continue
		case dup:
			p.drop(e, DropDuplicate, fmt.Sprintf("row %d has the same id", first))
			continue
		}
		seen[e.ID] = e.Row
		if e.blank && p.o.RequireQuestion {
			p.drop(e, DropBlank, "")
			continue
		}
		out = append(out, e.Example)
	}
	p.report.Kept = len(out)
	p.warnings()
	return out, p.report, nil
}

func (p *picker) drop(e picked, reason, detail string) {
	p.report.Drops = append(p.report.Drops, Drop{Row: e.Row, ID: e.ID, Reason: reason, Detail: detail})
}

func freeID(row int, taken map[string]bool) string {
	id := fmt.Sprintf("row-%d", row)
	for taken[id] {
		id += "_"
	}
	return id
}

func (p *picker) requireQuestion() error {
	name := p.o.Names.Question
	if !p.o.RequireQuestion || p.o.Unstructured || p.columns[name] || p.report.Rows == 0 {
		return nil
	}
	hint := fmt.Sprintf("the columns are %s; say which one holds the question with --question-key, or make the whole row the question with --unstructured",
		quoted(p.report.Columns))
	return formats.Invalid(p.name, hint, nil, "there is no question column %q", name)
}

func (p *picker) warnings() {
	r := &p.report
	switch {
	case r.Rows == 0:
		r.warn("the file has no rows")
	case r.Kept == 0:
		r.warn("no row is left of %d", r.Rows)
	}
	if n := p.ids.missing; n > 0 && !p.columns[p.o.Names.ID] {
		r.warn("there is no id column %q: rows are named row-<n> by their place, so keep the file's order", p.o.Names.ID)
	} else if n > 0 {
		r.warn("%d rows have no id and are named row-<n> by their place", n)
	}
	if p.ids.text > 0 && p.ids.number > 0 {
		r.warn("ids are of mixed types (%d texts, %d numbers) and are compared as text", p.ids.text, p.ids.number)
	}
	if p.short > 0 {
		r.warn("%d rows have fewer fields than the header", p.short)
	}
	if p.done > 0 && p.done < r.Rows {
		r.warn("column %q is filled in %d of %d rows", p.o.Names.GeneratedAnswer, p.done, r.Rows)
	}
	for _, f := range p.filters {
		if !p.columns[f.column] && r.Rows > 0 {
			r.warn("the %s filter names column %q, which does not exist", f.list, f.column)
		}
	}
}

func quoted(names []string) string {
	const most = 20
	var b strings.Builder
	for i, n := range names[:min(len(names), most)] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", n)
	}
	if len(names) > most {
		fmt.Fprintf(&b, " and %d more", len(names)-most)
	}
	return b.String()
}

// fields splits a JSON object into its values and its keys in order. Of a key
// that comes twice the last value counts, as in Python.
func fields(object json.RawMessage) (map[string]json.RawMessage, []string, error) {
	dec := json.NewDecoder(bytes.NewReader(object))
	start, err := dec.Token()
	if err != nil {
		return nil, nil, err
	}
	if start != json.Delim('{') {
		return nil, nil, fmt.Errorf("it begins with %s", brief(object))
	}
	values, keys := map[string]json.RawMessage{}, []string(nil)
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, nil, err
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, nil, err
		}
		name := key.(string)
		if _, twice := values[name]; !twice {
			keys = append(keys, name)
		}
		values[name] = v
	}
	if _, err := dec.Token(); err != nil {
		return nil, nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, nil, fmt.Errorf("something follows the object")
	}
	return values, keys, nil
}

func brief(b []byte) string {
	const most = 40
	if b = bytes.TrimSpace(b); len(b) > most {
		return fmt.Sprintf("%q…", b[:most])
	}
	return fmt.Sprintf("%q", b)
}

// Text is a JSON value as text: a string's content, "" for null and for
// nothing, and every other value as it is written.
func Text(v json.RawMessage) string {
	var s string
	switch {
	case len(v) == 0 || string(v) == "null":
		return ""
	case v[0] == '"':
		if json.Unmarshal(v, &s) == nil {
			return s
		}
	}
	var compact bytes.Buffer
	if json.Compact(&compact, v) != nil {
		return string(v)
	}
	return compact.String()
}
