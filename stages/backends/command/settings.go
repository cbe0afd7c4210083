package command

import (
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/file"
	"github.com/rollmill/rollmill/stages/plugin"
)

var Kind = backends.Kind{
	Name: "command", Help: "any program: it gets the dataset's URI and answers with lines of JSON",
	New: func() backends.TrainerSettings { return &Config{} },
}

// Declare declares the settings; the identity is what the program gets.
func (c *Config) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Submission)
	d.Words(&c.Words, "trainer", "run this program to train: `WORDS`, split as a shell would").FromReceipt(plugin.Address)
	d.Strings(&c.PassEnv, "trainer-env",
		"pass the environment variable `NAME` to the program, which otherwise gets none that is named like a secret (KEY, "+
			"TOKEN, PASSWORD, ...)")
	d.KeyValues(&c.Settings, "settings", "pass `KEY=VALUE` to the program").ID("settings")
	d.Bool(&c.NewModel, "new-model",
		"make a new model of each submission, so that an epoch may be submitted in several forms; otherwise all "+
			"submissions advance one policy, once per epoch")
	d.String(&c.Model, "name", "train the model `NAME`").DefaultShown("policy").FromReceipt(nameIn).WrittenToRows()
	d.Strings(&c.Forms, "form",
		"write this `KIND` of file of the batch beside the receipt, one of backend file's such as sequences, and name it "+
			"in the request").DefaultShown("none").ID("form").Choices = file.Kinds()
	backends.DeclareBest(d, &c.Choice).DefaultShown("1")
	backends.DeclareRowWeight(d, &c.RowWeight)
	d.String(&c.Target, "target", "record this trainer as `NAME` in the ledger").DefaultShown("the program's words")
}

func nameIn(_, model string) string {
	if model == "policy" {
		return "" // as it is without a name
	}
	return model
}

func (c *Config) Trainer(s backends.Setup) (backends.Trainer, error) {
	return backends.Made(New(*c, s.Place))
}

// Describe is part of backends.Trainer. The program gets the URI of the batch, and may read
// its tables.
func (t *Trainer) Describe() backends.Description {
	d := backends.Description{Effect: backends.AdvancesPolicy, Private: true, ReadsDataset: true,
		Compares: []string{schema.TablePairs, schema.TableLabels}, Use: t.use, At: t.At, Status: t.Status, Cancel: t.Cancel}
	if t.cfg.NewModel {
		d.Effect = backends.MakesModel
	}
	return d
}

// Identity returns the settings that the program gets.
func (t *Trainer) Identity() backends.Identity { return backends.IdentityOf(&t.cfg, &Config{}) }
