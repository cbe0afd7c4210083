package importers

import (
	"fmt"
	"iter"
	"slices"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/storage/fault"
)

// Parsed is a record and what became of it.
type Parsed struct {
	Record
	Items []Item // finished; nil with Err
	Err   error  // why the record gives no trajectory: a fault of the source
}

// Convert parses a record and finishes its items. A panic of a format is an
// error of the record, so that one odd record does not end an import of
// millions.
func (f *Format) Convert(r Record) (p Parsed) {
	p.Record = r
	p.Convert(f)
	return p
}

// Convert sets the items or the error of p, whose record is in a format; see
// Format.Convert.
func (p *Parsed) Convert(f *Format) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case refusal:
			p.Items, p.Err = nil, v.error
		default:
			p.Items, p.Err = nil, fmt.Errorf("the format %s cannot convert it (%v): please report this", f.Name, v)
		}
	}()
	if paths := p.paths(); f.Columns && paths != nil {
		p.Data = lift(p.Data, paths)
	}
	if p.Items, p.Err = f.Parse(&p.Record); p.Err != nil {
		p.Items = nil
		return
	}
	if f.Unscored != nil {
		p.Losses = slices.DeleteFunc(p.Losses,
			func(l Loss) bool { return l.Why == jsontext.ReadNaN && f.Unscored.MatchString(l.Field) })
	}
	for i := range p.Items {
		p.withhold(&p.Items[i].Row)
		if err := Finish(&p.Items[i]); err != nil {
			p.Items, p.Err = nil, err
			return
		}
	}
}

// refusal is the panic by which the reading of a record ends.
type refusal struct{ error }

// Refuse ends Parse of a format with an error, from however deep within it.
func Refuse(err error) { panic(refusal{err}) }

// Refused reports whether a panic is one of Refuse.
func Refused(v any) bool {
	_, is := v.(refusal)
	return is
}

// Placed returns a panic with the place in front of its error, if it is one of Refuse.
func Placed(v any, format string, args ...any) any {
	if r, is := v.(refusal); is {
		return refusal{fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), r.error)}
	}
	return v
}

// All converts the records of a file one after the other. An error ends it: the
// file cannot be read.
func (f *Format) All(file File) iter.Seq2[Parsed, error] {
	return func(yield func(Parsed, error) bool) {
		for r, err := range f.Records.All(file) {
			if err != nil {
				yield(Parsed{}, err)
				return
			}
			if !yield(f.Convert(r), nil) {
				return
			}
		}
	}
}

// At returns the place of a record in a file, for messages.
func (r *Record) At() string {
	at := ""
	if r.Entry != "" {
		at = fmt.Sprintf("entry %q ", r.Entry)
	}
	if r.Line > 0 {
		return fmt.Sprintf("%sline %d", at, r.Line)
	}
	return fmt.Sprintf("%srecord %d", at, r.Row)
}

// Refused returns the error about a record of a file that cannot be imported.
func (r *Record) Refused(file, hint string, err error) error {
	return fault.Invalid(file, hint, err, "%s", r.At())
}
