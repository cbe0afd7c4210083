package tinker

import "github.com/rollmill/rollmill/formats/sequences"

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
