package importers

import (
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats/jsontext"
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

// Convert sets the items or the error of p, whose record is in a format; see Format.Convert.
func (p *Parsed) Convert(f *Format) {
	defer func() {
		if v := recover(); v != nil {
			p.Items, p.Err = nil, fmt.Errorf("the format %s cannot convert it (%v): please report this", f.Name, v)
		}
	}()
	if paths := p.paths(); f.Columns && paths != nil {
		p.Data = lift(p.Data, paths)
	}
	if p.log = f.Log; p.log {
		p.LeftOut, p.Kept = map[string]int64{}, map[string]bool{}
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
		p.withhold(&p.Items[i])
		if err := Finish(&p.Items[i]); err != nil {
			p.Items, p.Err = nil, err
			return
		}
	}
}

// Parse converts a record to items that are not finished; Convert does both. It is the
// one caller of the format's function, so that a refusal leaves no package as a panic.
func (f *Format) Parse(r *Record) (items []Item, err error) {
	defer func() {
		if v := recover(); Refused(v) {
			items, err = nil, v.(refusal).error
		} else if v != nil {
			panic(v)
		}
	}()
	return f.parse(r)
}

// refusal is the panic by which the reading of a record ends.
type refusal struct{ error }

// Refuse ends the function that converts a format's records with an error, from however deep within it.
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
