package file

import (
	"github.com/rollmill/rollmill/formats/foreign"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Formats lists formats, and finds their files.
type Formats struct {
	plugin.Registry[*plugin.None, plugin.Kind[*plugin.None]]
	files []exporters.File
}

var known = FormatsOf(exporters.Files(foreign.Exporters))

// FormatsOf lists the formats of some files.
func FormatsOf(files []exporters.File) Formats {
	var out []plugin.Kind[*plugin.None]
	for i, f := range files {
		if i == 0 || f.Format.Name != files[i-1].Format.Name {
			out = append(out, plugin.Kind[*plugin.None]{Name: f.Format.Name, Help: f.Format.Describe(),
				About: f.Format.About(), Purpose: string(f.Format.For), New: plugin.NewNone})
		}
	}
	return Formats{plugin.NewRegistry("format", out...), files}
}

// Select declares a setting that holds names of files.
func (f Formats) Select(d *plugin.Declarer, names *[]string, name, help string) *plugin.Setting {
	s := plugin.Select(d, f.Registry, names, name, help)
	s.Choices = f.Files()
	return s
}

// Files returns the names of the files: NAME for the first of a format, NAME.EXT for another.
func (f Formats) Files() (names []string) {
	for _, x := range f.files {
		names = append(names, x.Name)
	}
	return names
}

// File returns the file that a name means; see exporters.Named.
func (f Formats) File(name string) (exporters.File, error) {
	if x, ok := exporters.Named(f.files, name); ok {
		return x, nil
	}
	_, err := f.Find(name)
	return exporters.File{}, err
}

// Kinds lists the files that can be written.
func Kinds() []string { return known.Files() }
