package file

import (
	"strings"

	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Kind is the registry's entry.
var Kind = backends.Kind{
	Name: "file", Help: "files for trainers elsewhere: ART, TRL, verl, OpenRLHF, NeMo-RL, slime, NeMo Customizer",
	New: func() backends.TrainerSettings { return defaults() },
}

func defaults() *Config { return &Config{Best: 1} }

// Declare declares the settings. The kinds name the trainer, so they are not
// part of the identity.
func (c *Config) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Submission)
	d.Strings(&c.Kinds, "kinds", "write this `KIND` of file: "+strings.Join(Kinds(), ", ")).Shown("all").FromReceipt(kindsIn).Choices = Kinds()
	d.Bool(&c.AcceptPlainAssistant, "accept-plain-assistant", "write rows for ART whose input holds assistant messages, although ART trains on them").ID("accept-plain-assistant")
	backends.DeclareBest(d, &c.Best).Tag = ""
}

func kindsIn(_, model string) string {
	kinds, _, _ := strings.Cut(model, " ")
	return kinds
}

// Trainer makes the trainer.
func (c *Config) Trainer(s backends.Setup) (backends.Trainer, error) {
	return backends.Made(New(*c, s.Place))
}

// Identity returns the settings that change the files, apart from their kinds.
func (t *Trainer) Identity() backends.Identity { return backends.IdentityOf(&t.cfg, defaults()) }
