package art

import (
	"cmp"
	"fmt"
	"time"
)

// Config says which ART server, which model, and how to train. Field names are
// those of the harness's trainer adapter. Unset fields are not sent: a null
// section crashes the server, so none is ever null.
type Config struct {
	IP        string `yaml:"ip" json:"ip"`                 // host of the control server; default 127.0.0.1
	Port      int    `yaml:"port" json:"port"`             // default 7999, as the server's own
	Name      string `yaml:"name" json:"name"`             // default "trainer_run"
	Project   string `yaml:"project" json:"project"`       // default "trainer_project"
	BaseModel string `yaml:"base_model" json:"base_model"` // default "Qwen/Qwen2.5-7B-Instruct"
	APIKey    string `yaml:"api_key" json:"-"`             // of the inference port; default "default"

	DeleteOldCheckpoints bool `yaml:"delete_old_checkpoints" json:"delete_old_checkpoints"` // before training; keeps the newest and the best
	// says which is the best, in the legacy dialect; default train/reward, which the server records by itself
	CheckpointMetric string `yaml:"checkpoint_metric" json:"checkpoint_metric"`
	// steps to keep besides the newest, in the frontend dialect
	KeepCheckpoints []int64 `yaml:"keep_checkpoints" json:"keep_checkpoints"`

	InitArgs   InitArgs       `yaml:"init_args" json:"init_args"`
	EngineArgs EngineArgs     `yaml:"engine_args" json:"engine_args"`
	PeftArgs   map[string]any `yaml:"peft_args" json:"peft_args"`
	TrainArgs  map[string]any `yaml:"trainer_args" json:"trainer_args"`
	Internal   map[string]any `yaml:"internal_config" json:"internal_config"` // further keys of the model's _internal_config
	ServerArgs map[string]any `yaml:"server_args" json:"server_args"`         // of the inference server: host, port, tool_call_parser, ...
	Training   Training       `yaml:"training" json:"training"`
	DevConfig  map[string]any `yaml:"dev_config" json:"dev_config"` // ART's dev.TrainConfig: scale_rewards, epsilon, ...

	// names this trainer in the ledger when its address changes between runs; default its address
	Target string `yaml:"target" json:"target"`
	// send rows whose input holds assistant messages, although ART 0.4 trains on them
	AcceptPlainAssistant bool          `yaml:"accept_plain_assistant" json:"accept_plain_assistant"`
	ReadTimeout          time.Duration `yaml:"read_timeout" json:"read_timeout"` // longest silence while training; default none
}

// InitArgs load the model.
type InitArgs struct {
	MaxSeqLength *int           `yaml:"max_seq_length" json:"max_seq_length,omitempty"`
	More         map[string]any `yaml:",inline" json:"-"`
}

// EngineArgs are vLLM's.
type EngineArgs struct {
	GPUMemoryUtilization *float64       `yaml:"gpu_memory_utilization" json:"gpu_memory_utilization,omitempty"`
	TensorParallelSize   *int           `yaml:"tensor_parallel_size" json:"tensor_parallel_size,omitempty"`
	More                 map[string]any `yaml:",inline" json:"-"`
}

// Training is sent with every batch.
type Training struct {
	LearningRate *float64 `yaml:"learning_rate" json:"learning_rate,omitempty"` // default 5e-5
	// KL penalty; default 0.0; ignored from 0.5.12 on
	Beta *float64 `yaml:"beta" json:"beta,omitempty"`
	// replaces beta; used only together with dev_config.kl_penalty_coef
	KLPenalty *float64 `yaml:"kl_penalty_coef" json:"kl_penalty_coef,omitempty"`
}

// WithDefaults fills in what is unset.
func (c Config) WithDefaults() Config {
	c.IP = cmp.Or(c.IP, "127.0.0.1")
	c.Port = cmp.Or(c.Port, 7999)
	c.Name = cmp.Or(c.Name, "trainer_run")
	c.Project = cmp.Or(c.Project, "trainer_project")
	c.BaseModel = cmp.Or(c.BaseModel, "Qwen/Qwen2.5-7B-Instruct")
	c.APIKey = cmp.Or(c.APIKey, "default")
	c.CheckpointMetric = cmp.Or(c.CheckpointMetric, "train/reward")
	c.Training.LearningRate = cmp.Or(c.Training.LearningRate, new(5e-5))
	c.Training.Beta = cmp.Or(c.Training.Beta, new(0.0))
	return c
}

// Validate reports the first invalid field.
func (c Config) Validate() error {
	bad := func(field string, value any, want string) error {
		return &Error{What: fmt.Sprintf("art: %s %v: must be %s", field, value, want), Usage: true}
	}
	switch {
	case c.Port < 1 || c.Port > 65535:
		return bad("port", c.Port, "1 to 65535")
	case c.InitArgs.MaxSeqLength != nil && *c.InitArgs.MaxSeqLength < 1:
		return bad("init_args.max_seq_length", *c.InitArgs.MaxSeqLength, "positive")
	case c.EngineArgs.GPUMemoryUtilization != nil &&
		(*c.EngineArgs.GPUMemoryUtilization <= 0 || *c.EngineArgs.GPUMemoryUtilization > 1):
		return bad("engine_args.gpu_memory_utilization", *c.EngineArgs.GPUMemoryUtilization, "above 0, at most 1")
	case c.EngineArgs.TensorParallelSize != nil && *c.EngineArgs.TensorParallelSize < 1:
		return bad("engine_args.tensor_parallel_size", *c.EngineArgs.TensorParallelSize, "positive")
	case *c.WithDefaults().Training.LearningRate < 0:
		return bad("training.learning_rate", *c.Training.LearningRate, "0 or more")
	case *c.WithDefaults().Training.Beta < 0:
		return bad("training.beta", *c.Training.Beta, "0 or more")
	}
	return nil
}
