package exporters

import (
	"fmt"
	"io"
)

// Extension is the extension of a file's name.
type Extension string

// The extensions.
const (
	JSONL       Extension = ".jsonl"
	Parquet     Extension = ".parquet"
	CSV         Extension = ".csv"
	Arrow       Extension = ".arrow"  // Arrow IPC, file format
	ArrowStream Extension = ".arrows" // Arrow IPC, streaming format
	MessagePack Extension = ".bin"    // one MessagePack value
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

// File is one kind of file: a form of a format.
type File struct {
	Name      string // the format's; that of a format's second file ends in its extension
	File      string // the name of the file, or of the folder
	Extension Extension
	Format    Format
}

// Files returns the kinds of file of some formats that backend file writes.
func Files(list []Format) []File { return filesOf(list, false) }

// Exports returns the kinds of file of some formats that export writes.
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
				x.Name += "-" + string(ext[1:])
			}
			out = append(out, x)
		}
	}
	return out
}

// Help returns what the file is and what it is made from.
func (f File) Help() string {
	what := f.Format.Help
	if of := f.Format.Of.Help(); of != "" {
		what += ", " + of
	}
	if f.Format.Omits != "" {
		what += ", without " + f.Format.Omits
	}
	return fmt.Sprintf("%s (%s)", what, f.File)
}

// FormatsOf returns the formats of some files.
func FormatsOf(files []File) (out []Format) {
	for _, f := range files {
		out = append(out, f.Format)
	}
	return out
}
