package file

import (
	"fmt"
	"io"

	"github.com/rollmill/rollmill/formats/exporters"
	"github.com/rollmill/rollmill/formats/exporters/all"
	"github.com/rollmill/rollmill/stages/plugin"
)

// kind is one file and its format.
type kind struct {
	plugin.Kind[*plugin.None]
	file   string
	format exporters.Format
	open   func(io.Writer) exporters.Sink
}

// registry lists the kinds of file.
type registry = plugin.Registry[*plugin.None, kind]

var known = kindsOf(all.Formats)

// kindsOf returns the kinds of file of some formats. They are named after their
// formats; a second file of a format has its extension, too.
func kindsOf(list []exporters.Format) registry {
	var out []kind
	for _, f := range list {
		for i, ext := range f.Files {
			k := kind{file: f.Name + string(ext), format: f, open: f.Open(ext)}
			k.Name, k.Help, k.New = f.Name, k.help(), plugin.NewNone
			if i > 0 {
				k.Name += "-" + string(ext[1:])
			}
			out = append(out, k)
		}
	}
	return plugin.NewRegistry("format", out...)
}

// help returns what the file is and what it is made from.
func (k kind) help() string {
	what := k.format.Help
	if of := k.format.Of.Help(); of != "" {
		what += ", " + of
	}
	return fmt.Sprintf("%s (%s)", what, k.file)
}

// Kinds lists the files that can be written.
func Kinds() []string { return known.Names() }

func formatsOf(kinds []kind) (out []exporters.Format) {
	for _, k := range kinds {
		out = append(out, k.format)
	}
	return out
}
