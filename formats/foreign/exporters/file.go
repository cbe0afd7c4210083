package exporters

import (
	"io"
	"strings"
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

// Streams reports whether a file can be read from its beginning on, and so be written to a pipe.
func (e Extension) Streams() bool { return e == JSONL || e == CSV || e == ArrowStream }

// Open returns the function that begins a file with an extension; nil for a folder.
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

func FormatsOf(files []File) (out []Format) {
	for _, f := range files {
		out = append(out, f.Format)
	}
	return out
}
