package file

import (
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/foreign"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/stages/backends"
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

var Kind = KindOf(foreign.Exporters)

// KindOf returns the entry of a backend that writes the files of some formats.
func KindOf(list []exporters.Format) backends.Kind {
	kinds := FormatsOf(exporters.Files(list))
	return backends.Kind{
		Name: "file", Help: "files for trainers elsewhere: ART, TRL, verl, OpenRLHF, NeMo-RL, slime, prime-rl, " +
			"NeMo Customizer",
		New: func() backends.TrainerSettings {
			c := defaults()
			c.known = kinds
			return c
		},
	}
}

func defaults() *Config { return &Config{Choice: trainset.Choice{Best: 1}} }

// Declare declares the settings. The kinds name the trainer, so they are not
// part of the identity.
func (c *Config) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Submission)
	c.registry().Select(d, &c.Kinds, "kinds",
		"write this `KIND` of file: NAME, a format below, or NAME.EXT for another of its files").DefaultShown("all").
		FromReceipt(plugin.InModel(`^([^ ]*)`))
	d.Bool(&c.AcceptPlainAssistant, "accept-plain-assistant",
		"write rows for ART whose input holds assistant messages, although ART trains on them").ID("accept-plain-assistant")
	backends.DeclareBest(d, &c.Choice).Tag = ""
	backends.DeclareRowWeight(d, &c.RowWeight)
}

// registry returns the kinds to choose from.
func (c *Config) registry() Formats {
	if c.known.Sort == "" {
		return known
	}
	return c.known
}

func (c *Config) Trainer(s backends.Setup) (backends.Trainer, error) {
	return backends.Made(New(*c, s.Place))
}

// Identity returns the settings that change the files, apart from their kinds.
func (t *Trainer) Identity() backends.Identity { return backends.IdentityOf(&t.cfg, defaults()) }

// Describe is part of backends.Trainer. The batch may also be given to a trainer.
func (t *Trainer) Describe() backends.Description {
	return backends.Description{Effect: backends.KeepsBatch, Private: true, Compares: exporters.Compares(exporters.FormatsOf(t.files)),
		Use: t.Use, WriteRows: t.WriteRows}
}
