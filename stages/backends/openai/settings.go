package openai

import (
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/plugin"
)

var Kind = backends.Kind{
	Name: "openai", Help: "OpenAI's fine-tuning API, at Azure or a compatible service: supervised or DPO",
	New: func() backends.TrainerSettings { return defaults() },
}

func defaults() *Config { return new(Config{Choice: trainset.Choice{Best: 1}}.withDefaults()) }

// Declare declares the settings. Those that change the model which a job makes are part of the
// identity, except the address, the base model and the method, which name the trainer. A
// receipt's model is MODEL:METHOD; the model may contain colons.
func (c *Config) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Submission)
	d.String(&c.BaseURL, "fine-tuning-url",
		"use the service at this base `URL`; for Azure https://RESOURCE.openai.azure.com/openai").FromReceipt(plugin.Address)
	backends.DeclareKeyFile(d, &c.APIKey)
	d.SecretVariable(&c.OpenAIKey, "OPENAI_API_KEY")
	d.SecretVariable(&c.AzureKey, "AZURE_OPENAI_API_KEY")
	d.String(&c.Model, "base-model", "train from this `MODEL`").FromReceipt(plugin.InModel(`^(.*):`)).WrittenToRows()
	plugin.Choice(d, &c.Method, "method", "train by this `METHOD`: supervised, dpo", Methods...).
		FromReceipt(plugin.InModel(`([^:]*)$`))
	d.Bool(&c.Azure, "azure", "use Azure's form of the API")
	d.String(&c.APIVersion, "api-version", "use this `VERSION` of Azure's API")
	d.String(&c.Suffix, "suffix", "put `TEXT` into the new model's name").ID("suffix")
	d.OptionalInt64(&c.Seed, "job-seed", "give the job this `SEED`").ID("job-seed").DefaultShown("the service's")
	d.Objects(&c.Hyperparameters, "hyperparameters",
		"set `KEY=VALUE` of the method: n_epochs, batch_size, learning_rate_multiplier, beta, ...").ID("hyperparameters")
	backends.DeclareHeldOut(d, &c.Validation, &c.SplitSeed)
	d.Int(&c.MinRows, "min-rows", "refuse a batch of fewer than `N` rows")
	backends.DeclareBest(d, &c.Choice)
}

func (c *Config) Trainer(backends.Setup) (backends.Trainer, error) {
	config := *c
	if config.APIKey == "" {
		config.APIKey = config.OpenAIKey
		if config.Azure {
			config.APIKey = config.AzureKey
		}
	}
	return backends.Made(New(config))
}

// Describe is part of backends.Trainer. The service keeps the batch, and each job makes a model
// of its own; DPO's rows are made of pairs.
func (t *Trainer) Describe() backends.Description {
	d := backends.Description{Effect: backends.MakesModel, Use: t.Use, WriteRows: t.WriteRows, Status: t.Status, Cancel: t.Cancel}
	if t.cfg.Method == DPO {
		d.Compares = []string{schema.TablePairs}
	}
	return d
}

// Identity returns the settings that change the model that a job makes.
func (t *Trainer) Identity() backends.Identity {
	c := t.cfg
	if c.Method != Supervised {
		c.Choice = defaults().Choice // it matters for supervised training only
	}
	if c.Validation == 0 {
		c.SplitSeed = 0
	}
	return backends.IdentityOf(&c, defaults())
}
