package file

import (
	"github.com/rollmill/rollmill/formats/foreign"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/stages/plugin"
)

// kind is one kind of file.
type kind struct {
	plugin.Kind[*plugin.None]
	file exporters.File
}

// registry lists the kinds of file.
type registry = plugin.Registry[*plugin.None, kind]

var known = kindsOf(foreign.Exporters)

// kindsOf returns the kinds of file of some formats. They are named after their
// formats; a second file of a format has its extension, too.
func kindsOf(list []exporters.Format) registry {
	var out []kind
	for _, f := range exporters.Files(list) {
		out = append(out, kind{plugin.Kind[*plugin.None]{Name: f.Name, Help: f.Help(), About: f.Format.About(), Purpose: string(f.Format.For), New: plugin.NewNone}, f})
	}
	return plugin.NewRegistry("format", out...)
}

// Kinds lists the files that can be written.
func Kinds() []string { return known.Names() }

func filesOf(kinds []kind) (out []exporters.File) {
	for _, k := range kinds {
		out = append(out, k.file)
	}
	return out
}
