package hub

import (
	"cmp"
	"strings"

	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Kind is the registry's entry.
var Kind = backends.Kind{
	Name: "hub", Help: "a dataset repository of the Hugging Face hub, or of a store with its API; trainers pin the commit",
	New: func() backends.TrainerSettings { return defaults() },
}

func defaults() *Config {
	return &Config{Branch: "main", Choice: chat.Choice{Best: 1}, MaxFileBytes: 500e6}
}

// Declare declares the settings; those that change the files are part of the
// identity. A receipt's model is OWNER/NAME@BRANCH:TABLE+TABLE, then the form and the
// number of best members.
func (c *Config) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Submission)
	d.String(&c.Endpoint, "hub-url", "push to the store at this `URL`").DefaultShown("HF_ENDPOINT, else https://huggingface.co").
		FromReceipt(plugin.Address)
	d.Variable(&c.EndpointVariable, "HF_ENDPOINT")
	backends.DeclareKeyFile(d, &c.Token, "HF_TOKEN")
	d.String(&c.Repo, "repository", "push to the dataset repository `OWNER/NAME`, created if missing").
		FromReceipt(plugin.InModel(`^([^@:]*)`))
	d.String(&c.Branch, "branch", "commit to this `BRANCH`").FromReceipt(plugin.InModel(`^[^@:]*@([^:]*)`))
	d.Bool(&c.Private, "private", "make a new repository private")
	d.Strings(&c.Tables, "tables", "push this `TABLE`: "+strings.Join(Tables(), ", ")).DefaultShown(Trajectories).
		FromReceipt(plugin.InModel(`^[^:]*:([^ ]*)`)).Choices = Tables()
	d.Bool(&c.Keep, "keep-earlier", "keep earlier batches next to this one; otherwise they remain only in the history").
		ID("keep-earlier")
	d.Int64(&c.MaxFileBytes, "file-bytes", "begin another file after `N` bytes")
	backends.DeclareHeldOut(d, &c.Validation, &c.SplitSeed)
	backends.DeclareBest(d, &c.Choice).Tag = ""
	backends.DeclareRowWeight(d, &c.RowWeight)
}

// Trainer makes the trainer.
func (c *Config) Trainer(backends.Setup) (backends.Trainer, error) {
	config := *c
	config.Endpoint = cmp.Or(config.Endpoint, config.EndpointVariable)
	return backends.Made(New(config))
}

// Describe is part of backends.Trainer. The service keeps the batch, which may also be given to
// a trainer.
func (t *Trainer) Describe() backends.Description {
	return backends.Description{Effect: backends.KeepsBatch, Compares: exporters.Compares(t.formats), Use: t.Use,
		WriteRows: t.WriteRows}
}

// Identity returns the settings that change the pushed files.
func (t *Trainer) Identity() backends.Identity {
	c := t.cfg
	if c.Validation == 0 {
		c.SplitSeed = 0
	}
	return backends.IdentityOf(&c, defaults())
}
