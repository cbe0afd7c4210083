package exporters

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/rollmill/rollmill/formats/schema"
)

// Extension is the extension of a file's name.
type Extension string

const (
	JSONL       Extension = ".jsonl"
	Parquet     Extension = ".parquet"
	CSV         Extension = ".csv"
	ArrowStream Extension = ".arrows" // Arrow IPC, streaming format
	Folder      Extension = "/"       // a folder of documents
)

// Streams reports whether a file can be read from its beginning on, and so be
// written to a pipe.
func (e Extension) Streams() bool { return e == JSONL || e == CSV || e == ArrowStream }

// Open returns the function that begins a file with an extension; nil for a
// folder.
func (f Format) Open(e Extension) func(io.Writer) Sink {
	switch e {
	case JSONL:
		return f.Lines
	case Parquet:
		return f.Table
	case Folder:
		return nil
	}
	return f.Other
}

type File struct {
	Name      string // NAME, the format's, for its first file; NAME.EXT for another
	File      string // the name of the file, or of the folder
	Extension Extension
	Format    Format
}

// Stored returns the name that keys and identities of submissions hold: NAME, or
// NAME-EXT, by which earlier versions named a file.
func (f File) Stored() string { return strings.ReplaceAll(f.Name, ".", "-") }

// Named returns the file that a name means: NAME the first one of the format,
// NAME.EXT the one with this extension. The name may be the stored one.
func Named(files []File, name string) (file File, ok bool) {
	for _, f := range files {
		if name == f.Name || name == f.File || name == f.Stored() {
			return f, true
		}
	}
	return File{}, false
}

// Files returns the files of some formats that backend file writes.
func Files(list []Format) []File { return filesOf(list, false) }

// Exports returns the files of some formats that export writes.
func Exports(list []Format) []File { return filesOf(list, true) }

func filesOf(list []Format, all bool) (out []File) {
	for _, f := range list {
		kinds := f.Files
		if all {
			kinds = append(kinds[:len(kinds):len(kinds)], f.Exports...)
		}
		for i, ext := range kinds {
			x := File{Name: f.Name, File: f.Name + string(ext), Extension: ext, Format: f}
			if i > 0 {
				x.Name = x.File
			}
			out = append(out, x)
		}
	}
	return out
}

// Describe returns what a format is, what it is made from, and its files.
func (f Format) Describe() string {
	what := f.Help
	if of := f.Of.Help(); of != "" {
		what += ", " + of
	}
	if f.Omits != "" {
		what += ", without " + f.Omits
	}
	all := Exports([]Format{f})
	files := all[0].File
	for i, x := range all[1:] {
		if files += ", " + x.File; len(f.Files) > 0 && i+1 >= len(f.Files) {
			files += " by export only"
		}
	}
	return fmt.Sprintf("%s (%s)", what, files)
}

func FormatsOf(files []File) (out []Format) {
	for _, f := range files {
		out = append(out, f.Format)
	}
	return out
}

const hexDigits = "0123456789abcdef"

// fileName returns an id as the name of a file: letters, digits and -_. stand
// for themselves, a dot not at the beginning; every other byte is ~ and two hex
// digits. Different ids have different names; on a disk that ignores case, those
// that differ in case only may collide, which Create reports.
func fileName(id string) string {
	var b strings.Builder
	for i := range len(id) {
		c := id[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'~', hexDigits[c>>4], hexDigits[c&15]})
		}
	}
	if b.Len() == 0 {
		return "~"
	}
	return b.String()
}

// Column documents one column of a format.
type Column struct{ Name, Meaning string }

// ColumnsOf returns the columns of a row, as its fields' tags "parquet" and
// "meaning" say. Those of a list of structs are named LIST.COLUMN.
func ColumnsOf[T any]() []Column { return columnsOf("", reflect.TypeFor[T]()) }

func columnsOf(above string, row reflect.Type) (out []Column) {
	meanings := map[uintptr]string{} // by place in the struct
	for i := range row.NumField() {
		meanings[row.Field(i).Offset] = row.Field(i).Tag.Get("meaning")
	}
	for _, f := range schema.FieldsOf(row) {
		out = append(out, Column{above + f.Name, meanings[f.Offset]})
		if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct {
			out = append(out, columnsOf(above+f.Name+".", f.Type.Elem())...)
		}
	}
	return out
}

// About returns the notes of a format and its columns as text; "" when it does
// not say.
func (f Format) About() string {
	if len(f.Columns) == 0 {
		return f.Notes
	}
	var b strings.Builder
	if f.Notes != "" {
		b.WriteString(f.Notes + "\n")
	}
	b.WriteString("Columns:\n\n")
	for _, c := range f.Columns {
		fmt.Fprintf(&b, "  %-24s %s\n", c.Name, c.Meaning)
	}
	return b.String()
}
