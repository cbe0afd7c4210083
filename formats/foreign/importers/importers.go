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
	"io"
	"path"
	"regexp"
	"strings"
)

type Format struct {
	Name       string
	Help       string                 // a lower-case phrase: whose files they are
	Spec       string                 // where the format is specified
	Extensions []string               // of the files that are read in a folder, such as ".jsonl"
	Skip       func(name string) bool // which of them are not, by the path below the folder that is read; nil: none
	Companions string                 // see IsCompanion; "" for none
	Unscored   *regexp.Regexp         // paths of scores, at which NaN says that there is none; nil: there are no such
	Fields     []Field                // what --map can name; nil when the format has fixed names
	// the Fields are members of every record: a column of --map that no record has is refused
	Columns bool
	// Log means records of a gateway or a trace store, which have what users and operators did not mean to
	// train on: keys are redacted unless the user says otherwise, and what holds an end user's id, name or
	// address is left out of metadata unless the user keeps it. Files of harnesses, gyms and trainers are no logs.
	Log bool

	// Records cuts a file into records. It does as little as possible, since it
	// is the only part of an import that does not run concurrently.
	Records Cut

	parse func(r *Record) ([]Item, error) // see ParsedBy
}

// ParsedBy returns the format with the function that converts its records. An error
// refuses the record; it need not name the place, and Refuse ends the function with it.
// The function is pure and safe for concurrent use.
func (f Format) ParsedBy(parse func(r *Record) ([]Item, error)) Format {
	f.parse = parse
	return f
}

// Field is a name that --map NAME=COLUMN gives to a column of the source.
type Field struct {
	Name, Help string
	Word       bool // --map gives it a word of the user's, not a column
}

// File is a file to import.
type File struct {
	Name string // its URI without credentials, for messages
	R    io.ReaderAt
	Size int64

	Companions []Companion // the files beside it that are its companions, in the order of their names

	*Options
}

// Companion is a file that belongs to another one.
type Companion struct {
	Name string // its path from the folder of the other
	Read func() ([]byte, error)
	// Head reads the file's beginning, up to limit bytes, and returns the size of the whole file.
	Head func(limit int64) (data []byte, size int64, err error)
}

// IsCompanion reports whether Records may read a file beside another one, from whose folder its path is name: whether it
// matches one of the patterns in Companions, with blanks between. A pattern may go into folders; FOLDER/** is all files
// below one.
func (f *Format) IsCompanion(name string) bool {
	for pattern := range strings.FieldsSeq(f.Companions) {
		if folder, all := strings.CutSuffix(pattern, "**"); all && strings.HasPrefix(name, folder) {
			return true
		}
		if ok, _ := path.Match(pattern, name); ok { // a bad pattern matches nothing
			return true
		}
	}
	return false
}

// Options are the choices of the user that decide what a record becomes.
type Options struct {
	Map  map[string]string // the source's column by the name of a Field
	Keep []string          // members about end users that stay in the rows of a log
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
