// Package importers converts other programs' files to trajectories: what a
// format is, how its files are cut into records, and what a record becomes. It
// opens no files, and it decides neither ids nor groups; pipelines/convert does.
//
// To add a format: add a folder of formats/foreign that declares a Format, a line
// to formats/foreign, files that the software itself wrote to testdata/importers,
// and calls of foreigntest.Importer and foreigntest.Fuzz. The command, its help and its
// page follow. Packages must and value read JSON values.
package importers

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/storage/fault"
)

type Format struct {
	Name       string
	Help       string                 // a lower-case phrase: whose files they are
	Spec       string                 // where the format is specified
	Extensions []string               // of the files that are read in a folder, such as ".jsonl"
	Skip       func(name string) bool // which of them are not, by the base name; nil: none
	Companions string                 // pattern of the base names of files that Records may read beside each; "" for none
	Unscored   *regexp.Regexp         // paths of scores, at which NaN says that there is none; nil: there are no such
	Fields     []Field                // what --map can name; nil when the format has fixed names
	// the Fields are members of every record: a column of --map that no record has is refused
	Columns bool

	// Records cuts a file into records. It does as little as possible, since it
	// is the only part of an import that does not run concurrently.
	Records Cut

	parse func(r *Record) ([]Item, error) // see ParsedBy
}

// ParsedBy returns the format with the function that converts its records. An error
// refuses the record; it need not name the place, and Refuse ends the function with it.
// The function is pure and safe for concurrent use, and what it returns shares memory
// with other records only in their Room.
func (f Format) ParsedBy(parse func(r *Record) ([]Item, error)) Format {
	f.parse = parse
	return f
}

// Field is a name that --map NAME=COLUMN gives to a column of the source.
type Field struct{ Name, Help string }

// File is a file to import.
type File struct {
	Name string // its URI without credentials, for messages
	R    io.ReaderAt
	Size int64

	Companions []Companion // the files in the same folder that match the format's pattern, in the order of their names

	*Options
}

// Companion is a file that belongs to another one.
type Companion struct {
	Name string // its base name
	Read func() ([]byte, error)
}

// Options are the choices of the user that decide what a record becomes.
type Options struct {
	Map map[string]string // the source's column by the name of a Field
}

// Column returns the source's column for a field: the one that --map names,
// else the field's own name.
func (o *Options) Column(field string) string {
	if column, mapped := o.Mapped(field); mapped {
		return column
	}
	return field
}

// Mapped returns the column that --map names for a field.
func (o *Options) Mapped(field string) (column string, mapped bool) {
	if o != nil {
		column, mapped = o.Map[field]
	}
	return column, mapped
}

// RoleField is the field with which --map role.NAME=ROLE gives messages of another role one of
// Roles; see Options.Role.
var RoleField = Field{Name: "role.NAME", Help: "the role of messages whose role is NAME, such as role.environment=tool"}

const rolePrefix = "role."

// IsRole reports whether a name of Options.Map is that of a role.
func IsRole(name string) bool { return strings.HasPrefix(name, rolePrefix) }

// Role returns the role that --map gives to messages of a role in the source.
func (o *Options) Role(source string) (role string, mapped bool) {
	if o != nil && len(o.Map) > 0 {
		role, mapped = o.Map[rolePrefix+source]
	}
	return role, mapped
}

// Record is a piece of a file that is converted by itself.
type Record struct {
	Data []byte // of one JSON value, or what the format's records are; it may be kept
	Row  int64  // which record of the file it is, from 0
	Line int    // where it begins in a text, from 1; 0 for none

	Nulls   bool  // its objects have nulls that datasets added, see Rows
	Dropped int64 // how many such nulls, and of structs of Parquet and Arrow, were left out

	Context []byte // what Records knows of it from elsewhere, such as from the file's name; nil for nothing

	*Options
	*Room         // for what the record becomes
	Losses []Loss // what Lose recorded

	Withheld int // members with the name of a secret that were left out
}

// Loss is a part of a record that a trajectory has no place for.
type Loss struct{ Field, Why string }

func (l Loss) String() string { return fmt.Sprintf("%s: %s", l.Field, l.Why) }

// Lose records that a part of the record has no place in a trajectory. Unless
// the user accepts losses, the record is refused for it. field is a name of the
// format, without indexes, since losses are counted by it. What a reader may
// want to have is not lost but put into Row.Metadata.
func (r *Record) Lose(field, why string) {
	r.Losses = append(r.Losses, Loss{Field: field, Why: why})
}

// Sparse returns a value without the nulls that datasets added, and counts them.
func (r *Record) Sparse(v []byte) []byte {
	if r == nil || !r.Nulls {
		return v
	}
	return jsontext.DropNulls(v, &r.Dropped)
}

// LoseAll records what the reading of JSON lost.
func (r *Record) LoseAll(lost []jsontext.Lost) {
	for _, l := range lost {
		r.Lose(l.Path, l.Why)
	}
}

// Item is one trajectory.
type Item struct {
	// Row is the trajectory. Its TrajectoryID and ExampleID are the source's own,
	// "" when it has none: then digests of the content and of the prompt take
	// their place. Epoch and Generation, Run, digests and totals of tokens are set
	// later; so are Answer, Status, StopReason, Model and PolicyVersion where they
	// are empty.
	Row formats.Trajectory

	NumberID bool // ExampleID is a number in the source

	Epoch   *int32 // the source's own, such as the training step; nil when it has none
	Attempt *int64 // the source's own number of the attempt at the example: orders a group; nil: as in the source

	// Final means that the ids, the run and the generation are Rollmill's own. They
	// stay as they are when those of all rows of the group are, and the user did
	// not choose other groups.
	Final bool

	Pair  PairSide // of two adjacent items of a record, which is preferred
	Label *bool    // whether the answer is desirable (KTO); nil when the source does not say
}

// PairSide is the side of a preference on which an item is.
type PairSide string

// The sides of a preference. The items of a record are paired in order: each
// chosen one with the rejected one that follows it.
const (
	Unpaired PairSide = ""
	Chosen   PairSide = "chosen"
	Rejected PairSide = "rejected"
)

// Brief returns the beginning of a value, for messages.
func Brief(v []byte) string {
	const limit = 60
	if len(v) > limit {
		return fmt.Sprintf("%.*q…", limit, v)
	}
	return fmt.Sprintf("%q", v)
}

// Parsed is a record and what became of it.
type Parsed struct {
	Record
	Items []Item // finished; nil with Err
	Err   error  // why the record gives no trajectory: a fault of the source
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
		if v := recover(); v != nil {
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

// At returns the place of a record in a file, for messages.
func (r *Record) At() string {
	if r.Line > 0 {
		return fmt.Sprintf("line %d", r.Line)
	}
	return fmt.Sprintf("record %d", r.Row)
}

// Refused returns the error about a record of a file that cannot be imported.
func (r *Record) Refused(file, hint string, err error) error {
	return fault.Invalid(file, hint, err, "%s", r.At())
}
