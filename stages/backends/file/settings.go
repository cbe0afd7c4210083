package file

import (
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/foreign"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Kind is the registry's entry.
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

// Trainer makes the trainer.
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
