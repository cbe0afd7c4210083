package tinker

import (
	"cmp"

	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/plugin"
)

var Kind = backends.Kind{
	Name: "tinker", Help: "a service of the Tinker API trains an adapter, driven by a worker in Python; needs --wait",
	New: func() backends.TrainerSettings { return defaults() },
}

func defaults() *Config {
	return &Config{Worker: []string{"python3", "-m", "rollmill.tinker", "train"}, Name: "policy", Rank: 32, Loss: ImportanceSampling,
		LearningRate: 1e-4, Substeps: 1, Passes: 1}
}

// Declare declares the settings; those that change the weights are part of the identity.
func (c *Config) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Submission)
	d.String(&c.URL, "tinker-url", "use the Tinker service at this base `URL`").DefaultShown("TINKER_BASE_URL, else the SDK's").FromReceipt(urlIn)
	d.Variable(&c.URLVariable, "TINKER_BASE_URL")
	d.SecretVariable(&c.Key, "TINKER_API_KEY")
	d.String(&c.Base, "base-model", "train an adapter of this `MODEL`").IDAlways("base-model").WrittenToRows().Common()
	d.String(&c.Name, "name", "train the policy `NAME`").FromReceipt(nameIn).WrittenToRows().Common()
	d.String(&c.Engine, "engine-url", "sample the new policy at this `URL`, where python3 -m rollmill.tinker serves").Common()
	plugin.Choice(d, &c.Loss, "loss", "train by this `LOSS` of the service: importance_sampling, ppo, cross_entropy",
		ImportanceSampling, PPO, CrossEntropy).ID("loss").Common()
	d.Float(&c.LearningRate, "learning-rate", "train with this learning `RATE`").IDAlways("learning-rate").Common()
	d.Int64(&c.Rank, "rank", "give a fresh adapter this `RANK`").ID("rank")
	d.Int64(&c.Seed, "adapter-seed", "draw a fresh adapter by `SEED`").ID("adapter-seed")
	d.Objects(&c.Adam, "adam", "set `KEY=VALUE` of the optimizer: beta1, beta2, eps, weight_decay, grad_clip_norm").ID("adam")
	d.Int64(&c.Substeps, "substeps", "make `N` optimizer steps in each pass over the batch").ID("substeps")
	d.Int64(&c.Passes, "passes", "pass `N` times over the batch").ID("passes")
	backends.DeclareRowWeight(d, &c.RowWeight)
	d.Int64(&c.MaxLength, "max-length", "refuse a batch with a sequence of more than `N` tokens").DefaultShown("what the service says")
	d.OptionalFloat(&c.Tolerance, "tolerance",
		"refuse a batch whose log probabilities are on average more than `NATS` from those that the service computes before its "+
			"first step").DefaultShown("any")
	d.Words(&c.Worker, "worker", "train with this program: `WORDS`, split as a shell would").
		DefaultShown("python3 -m rollmill.tinker train")
}

// hosted stands in a receipt for the service that the SDK knows.
const hosted = "tinker"

func address(url string) string { return cmp.Or(url, hosted) }

func urlIn(address, _ string) string {
	if address == hosted {
		return ""
	}
	return address
}

func nameIn(_, model string) string { return model }

func (c *Config) Trainer(s backends.Setup) (backends.Trainer, error) {
	config := *c
	config.URL = cmp.Or(config.URL, config.URLVariable)
	return backends.Made(New(config, s.Place))
}

// Describe is part of backends.Trainer. The service gets the batch, and the training ends with
// this process.
func (t *Trainer) Describe() backends.Description {
	return backends.Description{Effect: backends.AdvancesPolicy, Attended: true, At: t.At}
}

// Identity returns the settings that change the weights.
func (t *Trainer) Identity() backends.Identity { return backends.IdentityOf(&t.cfg, defaults()) }

// Config says where and how to train. The keys of JSON are what the worker reads.
type Config struct {
	URL         string   `json:"url,omitempty"` // of the service; "": the SDK's
	URLVariable string   `json:"-"`
	Key         string   `json:"-"` // of the service, which the worker reads from its environment
	Worker      []string `json:"-"` // the program that trains
	Name        string   `json:"-"` // of the policy
	Base        string   `json:"base"`
	Engine      string   `json:"engine,omitempty"` // the URL at which the new policy is sampled

	Rank         int64          `json:"rank"`
	Seed         int64          `json:"seed"` // of a fresh adapter
	Loss         Loss           `json:"loss"`
	LearningRate float64        `json:"learning_rate"`
	Adam         map[string]any `json:"adam,omitempty"` // beta1, beta2, eps, weight_decay, grad_clip_norm
	Substeps     int64          `json:"substeps"`       // optimizer steps of a pass
	Passes       int64          `json:"passes"`         // over the batch
	RowWeight    sequences.Per  `json:"-"`
	MaxLength    int64          `json:"max_length,omitempty"` // tokens of a sequence; 0: what the service says
	Tolerance    *float64       `json:"tolerance,omitempty"`  // mean nats between recorded and recomputed log probabilities
	Journal      string         `json:"journal"`              // URI of the folder with the ids of requests
}

// Loss is a loss of the service.
type Loss string

// The losses. The ratio of PPO is clipped to 0.8 and 1.2 by the service.
const (
	ImportanceSampling Loss = "importance_sampling"
	PPO                Loss = "ppo"
	CrossEntropy       Loss = "cross_entropy"
)
