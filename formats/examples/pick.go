package examples

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/records"
	"github.com/rollmill/rollmill/storage/fault"
)

// picker makes examples from rows, in the harness's order of steps: filters,
// duplicate ids, blank questions. All rows are spooled until the last one is
// read, because a generated id must differ from the ids of later rows.
type picker struct {
	name    string
	o       Options
	filters []filter
	report  Report
	set     *Set
	columns map[string]bool
	ids     struct{ text, number, missing int }
	rowIDs  bool   // some ids look like generated ones
	content *table // of examples without an id: where the first with this content is
	equal   int    // examples without an id that equal an earlier one
	short   int
	given   formats.FieldNames // the names that were asked for
	answers filled
	said    filled // by another program
	blank   filled // rows without a question; name is its column's
}

// filled counts the rows that have a value in a column.
type filled struct {
	name string
	rows int
	line int // of the first of them, from 1; 0 when rows have no lines
}

func (f *filled) count(is bool, line int) {
	if is {
		if f.rows++; f.rows == 1 {
			f.line = line
		}
	}
}

func newPicker(name string, o Options) (*picker, error) {
	given := o.Names
	o.Names.ID = cmp.Or(o.Names.ID, "id")
	o.Names.Question = cmp.Or(o.Names.Question, "question")
	o.Names.Answer = cmp.Or(o.Names.Answer, "answer")
	o.Names.GeneratedAnswer = cmp.Or(o.Names.GeneratedAnswer, "generated_answer")
	filters, err := newFilters(name, o)
	report := Report{Counts: map[string]int64{}}
	return &picker{name: name, o: o, filters: filters, report: report, set: &Set{}, columns: map[string]bool{}, given: given,
		answers: filled{name: o.Names.Answer}, said: filled{name: o.Names.GeneratedAnswer}}, err
}

func (p *picker) add(l records.Record) error {
	row := p.report.Rows
	p.report.Rows++
	object, odd := jsontext.Standard(l.Object)
	values, keys, err := records.Fields(object)
	at := func(err error) error {
		if l.Line > 0 {
			return fmt.Errorf("line %d: %w", l.Line, err)
		}
		return err
	}
	if err != nil {
		return invalid(p.name, row, at(err), "the row is not a JSON object")
	}
	if odd > 0 {
		hint := "write null for a missing value, as pandas' to_json does, and a text for any other"
		return fault.Invalid(p.name, hint, at(errNotFinite), "the row is not JSON").InRow(int64(row))
	}
	var r jsontext.Reading
	if _, is := r.Value(object); is && len(r.Lost) > 0 {
		return fault.Invalid(p.name, "leave one of them: which is meant, nobody knows", at(errors.New(r.Lost[0].Path)),
			"the row has a key twice").InRow(int64(row))
	}
	for _, k := range keys {
		if !p.columns[k] {
			p.columns[k] = true
			p.report.Columns = append(p.report.Columns, k)
		}
	}
	if l.Short {
		p.short++
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, object); err != nil {
		return invalid(p.name, row, err, "the row is not JSON")
	}
	e := spooled{Example: formats.Example{ID: p.id(values[p.o.Names.ID]), Row: row, Fields: compact.Bytes()}, Line: l.Line}
	if p.o.Unstructured {
		e.Question = string(e.Fields)
	} else {
		e.Question = jsontext.AnyText(values[p.o.Names.Question])
		e.Answer = jsontext.AnyText(values[p.o.Names.Answer])
		e.GeneratedAnswer = jsontext.AnyText(values[p.o.Names.GeneratedAnswer])
	}
	answer := values[p.o.Names.Answer]
	p.answers.count(len(answer) > 0 && string(answer) != "null", l.Line)
	p.said.count(e.GeneratedAnswer != "", l.Line)
	e.Refusals = refusals(p.filters, values)
	_, err = p.set.rows.add(e)
	return err
}

var errNotFinite = errors.New("it holds NaN or an infinity, which JSON does not have")

// wholeFloat matches a numeric id that a table stored as a float.
var wholeFloat = regexp.MustCompile(`^-?[0-9]+\.0$`)

// id returns the row's id as a string, "" when it has none. A whole number
// written as a float loses its ".0", so that ids survive tools that read number
// columns as floats; a string such as "v1.0" keeps it.
func (p *picker) id(v json.RawMessage) string {
	id := strings.TrimSpace(jsontext.AnyText(v))
	switch {
	case id == "":
		p.ids.missing++
		return ""
	case v[0] == '"':
		p.ids.text++
	default:
		p.ids.number++
	}
	if wholeFloat.MatchString(id) {
		id = strings.TrimSuffix(id, ".0")
	}
	p.rowIDs = p.rowIDs || formats.Numbered(id)
	return id
}

// finish drops rows and generates missing ids.
func (p *picker) finish() error {
	if err := p.missing(); err != nil {
		return err
	}
	taken, err := p.taken()
	if err != nil {
		return err
	}
	p.set.places, p.content = newTable(p.report.Rows), newTable(p.ids.missing)
	for e, err := range p.set.rows.records() {
		underscores, unnamed, kept := 0, e.ID == "", p.set.n
		if err == nil && unnamed {
			e.ID, underscores, err = freeID(e.Row, taken)
		}
		if err == nil {
			err = p.pick(e, underscores)
		}
		if err == nil && unnamed && p.set.n > kept {
			err = p.compare(e)
		}
		if err != nil {
			return err
		}
	}
	p.report.Kept = p.set.n
	p.warnings()
	return nil
}

// compare counts an example without an id that equals an earlier one.
func (p *picker) compare(e record) error {
	_, equal, err := p.content.find(string(e.Fields), func(from int64) (bool, error) {
		first, err := p.set.rows.record(from)
		return bytes.Equal(first.Fields, e.Fields), err
	})
	if equal {
		p.equal++
	} else if err == nil {
		p.content.put(string(e.Fields), e.from)
	}
	return err
}

// pick keeps a row or drops it.
func (p *picker) pick(e record, underscores int) error {
	if by := p.refusedBy(e.Refusals); by != "" {
		p.drop(e, DropFiltered, by)
		return nil
	}
	first, _, dup, err := p.set.first(e.ID)
	switch {
	case err != nil:
		return err
	case dup:
		return p.same(e, first)
	case p.o.RequireQuestion && strings.TrimSpace(e.Question) == "":
		p.drop(e, DropBlank, "")
		return p.set.pass(e.ID, e.from)
	}
	p.blank.count(strings.TrimSpace(e.Question) == "", e.Line)
	return p.set.keep(e.ID, e.from, underscores)
}

// same drops a row whose id an earlier one has, if it is the same task. Two tasks
// of one id are an error: one of them would be lost.
func (p *picker) same(e, first record) error {
	a, _ := formats.ExampleContent(string(first.Fields))
	if b, _ := formats.ExampleContent(string(e.Fields)); a != b {
		place := func(r record) string {
			if r.Line > 0 {
				return fmt.Sprintf("line %d", r.Line)
			}
			return fmt.Sprintf("row %d", r.Row)
		}
		hint := "give each task an id of its own; without an id column, rows are named by their place"
		return fault.Invalid(p.name, hint, nil, "%s and %s have the id %q and are different tasks", place(first), place(e), e.ID).
			InRow(int64(e.Row))
	}
	p.drop(e, DropDuplicate, fmt.Sprintf("row %d is the same", first.Row))
	return nil
}

func (p *picker) drop(e record, reason, detail string) {
	p.report.Counts[reason]++
	if len(p.report.Drops) < listedDrops {
		p.report.Drops = append(p.report.Drops, Drop{Row: e.Row, ID: e.ID, Reason: reason, Detail: detail})
	}
}

// taken returns a function that reports whether the file has an id that looks
// like a generated one; nil when there are none.
func (p *picker) taken() (func(id string) (bool, error), error) {
	if p.ids.missing == 0 || !p.rowIDs {
		return nil, nil
	}
	places := newTable(p.report.Rows)
	find := func(id string) (bool, error) {
		_, ok, err := places.find(id, func(at int64) (bool, error) {
			e, err := p.set.rows.record(at)
			return e.ID == id, err
		})
		return ok, err
	}
	for e, err := range p.set.rows.records() {
		known := false
		if err == nil && formats.Numbered(e.ID) {
			known, err = find(e.ID)
		}
		if err != nil {
			return nil, err
		}
		if formats.Numbered(e.ID) && !known {
			places.put(e.ID, e.from)
		}
	}
	return find, nil
}

// freeID generates an id for a row from its number and as many underscores as needed.
func freeID(row int, taken func(id string) (bool, error)) (id string, underscores int, err error) {
	for id = rowID(row, 0); taken != nil; id = rowID(row, underscores) {
		if is, err := taken(id); err != nil || !is {
			return id, underscores, err
		}
		underscores++
	}
	return id, 0, nil
}

func rowID(row, underscores int) string {
	return fmt.Sprintf("row-%d", row) + strings.Repeat("_", underscores)
}

// missing returns an error when no row has a column that was asked for.
func (p *picker) missing() error {
	if p.report.Rows == 0 {
		return nil
	}
	if p.o.RequireQuestion && !p.o.Unstructured {
		p.given.Question = p.o.Names.Question
	}
	for _, c := range []struct{ what, name string }{{"question", p.given.Question}, {"answer", p.given.Answer},
		{"generated-answer", p.given.GeneratedAnswer}, {"id", p.given.ID}} {
		if c.name == "" || p.columns[c.name] {
			continue
		}
		hint := fmt.Sprintf("the columns are %s; name one of them with --%s-key", quoted(p.report.Columns), c.what)
		if c.what == "question" {
			hint += ", or use the whole row as the question with --unstructured"
		}
		return fault.Invalid(p.name, hint, nil, "there is no %s column %q", c.what, c.name)
	}
	for _, f := range p.filters {
		if !p.columns[f.column] {
			return fault.Invalid(p.name, "the columns are "+quoted(p.report.Columns), nil,
				"the %s filter names column %q, which no row has",
				f.list, f.column)
		}
	}
	return nil
}

func (p *picker) warnings() {
	r := &p.report
	switch {
	case r.Rows == 0:
		r.warn("the file has no rows")
	case r.Kept == 0:
		r.warn("all %d rows were dropped", r.Rows)
	}
	if n := p.blank.rows; n > 0 && !p.o.NoQuestions {
		r.Blank = n
		where, hint := "", ""
		if p.blank.line > 0 {
			where = fmt.Sprintf("; the first is in line %d", p.blank.line)
		}
		if !p.columns[p.o.Names.Question] {
			hint = fmt.Sprintf("; the columns are %s: name the one that holds it with --question-key", quoted(r.Columns))
		}
		r.warn("%d of %d examples have no question (column %s%s)%s", n, r.Kept, p.o.Names.Question, where, hint)
	}
	equal := ""
	if p.equal > 0 {
		equal = fmt.Sprintf("; rows that repeat an earlier one: %d, each is a task of its own", p.equal)
	}
	if n := p.ids.missing; n > 0 && !p.columns[p.o.Names.ID] {
		r.warn("there is no id column %q: rows are named row-<n> by their place, so keep the file's order%s", p.o.Names.ID, equal)
	} else if n > 0 {
		r.warn("%d rows have no id and are named row-<n> by their place%s", n, equal)
	}
	if p.ids.text > 0 && p.ids.number > 0 {
		r.warn("ids are of mixed types (%d texts, %d numbers) and are compared as text", p.ids.text, p.ids.number)
	}
	if p.short > 0 {
		r.warn("%d rows have fewer fields than the header", p.short)
	}
	for _, f := range []filled{p.answers, p.said} {
		if f.rows < r.Rows && p.columns[f.name] && !p.o.Unstructured {
			r.warn("column %q is filled in %d of %d rows", f.name, f.rows, r.Rows)
		}
	}
}

func quoted(names []string) string {
	const limit = 20
	var b strings.Builder
	for i, n := range names[:min(len(names), limit)] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", n)
	}
	if len(names) > limit {
		fmt.Fprintf(&b, " and %d more", len(names)-limit)
	}
	return b.String()
}

func invalid(name string, row int, err error, format string, args ...any) error {
	return fault.Invalid(name, "look there: the file may be cut short, or a quote or bracket left open", err, format, args...).
		InRow(int64(row))
}
