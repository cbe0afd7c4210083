package examples

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/records"
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
	rowIDs  bool // some ids look like generated ones
	short   int
	done    int // rows with a generated answer
}

func newPicker(name string, o Options) (*picker, error) {
	o.Names.ID = cmp.Or(o.Names.ID, "id")
	o.Names.Question = cmp.Or(o.Names.Question, "question")
	o.Names.Answer = cmp.Or(o.Names.Answer, "answer")
	o.Names.GeneratedAnswer = cmp.Or(o.Names.GeneratedAnswer, "generated_answer")
	filters, err := newFilters(name, o)
	report := Report{Counts: map[string]int64{}}
	return &picker{name: name, o: o, filters: filters, report: report, set: &Set{}, columns: map[string]bool{}}, err
}

// add spools one row.
func (p *picker) add(l records.Record) error {
	row := p.report.Rows
	p.report.Rows++
	object, _ := jsontext.Standard(l.Object)
	values, keys, err := records.Fields(object)
	if err != nil {
		if l.Line > 0 {
			err = fmt.Errorf("line %d: %w", l.Line, err)
		}
		return invalid(p.name, row, err, "the row is not a JSON object")
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
	e := spooled{Example: formats.Example{ID: p.id(values[p.o.Names.ID]), Row: row, Fields: compact.Bytes()}}
	if p.o.Unstructured {
		e.Question = string(e.Fields)
	} else {
		e.Question = jsontext.AnyText(values[p.o.Names.Question])
		e.Answer = jsontext.AnyText(values[p.o.Names.Answer])
		e.GeneratedAnswer = jsontext.AnyText(values[p.o.Names.GeneratedAnswer])
	}
	if e.GeneratedAnswer != "" {
		p.done++
	}
	e.Refusals = refusals(p.filters, values)
	_, err = p.set.spool(e)
	return err
}

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
	if err := p.requireQuestion(); err != nil {
		return err
	}
	taken, err := p.taken()
	if err != nil {
		return err
	}
	p.set.places = newTable(p.report.Rows)
	for e, err := range p.set.records() {
		underscores := 0
		if err == nil && e.ID == "" {
			e.ID, underscores, err = freeID(e.Row, taken)
		}
		if err == nil {
			err = p.pick(e, underscores)
		}
		if err != nil {
			return err
		}
	}
	p.report.Kept = p.set.n
	p.warnings()
	return nil
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
		p.drop(e, DropDuplicate, fmt.Sprintf("row %d has the same id", first.Row))
		return nil
	case p.o.RequireQuestion && strings.TrimSpace(e.Question) == "":
		p.drop(e, DropBlank, "")
		return p.set.pass(e.ID, e.from)
	}
	return p.set.keep(e.ID, e.from, underscores)
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
			e, err := p.set.record(at)
			return e.ID == id, err
		})
		return ok, err
	}
	for e, err := range p.set.records() {
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

// freeID generates an id for a row from its number and as many underscores as
// needed.
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

func (p *picker) requireQuestion() error {
	name := p.o.Names.Question
	if !p.o.RequireQuestion || p.o.Unstructured || p.columns[name] || p.report.Rows == 0 {
		return nil
	}
	hint := fmt.Sprintf("the columns are %s; name the one that holds the question with --question-key, or use the whole "+
		"row as the question with --unstructured",
		quoted(p.report.Columns))
	return formats.Invalid(p.name, hint, nil, "there is no question column %q", name)
}

func (p *picker) warnings() {
	r := &p.report
	switch {
	case r.Rows == 0:
		r.warn("the file has no rows")
	case r.Kept == 0:
		r.warn("all %d rows were dropped", r.Rows)
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

// invalid returns an InputError about one row.
func invalid(name string, row int, err error, format string, args ...any) error {
	return formats.Invalid(name, "look there: the file may be cut short, or a quote or bracket left open", err, format, args...).
		InRow(int64(row))
}
