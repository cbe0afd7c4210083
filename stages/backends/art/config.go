package art

// Config says which ART server, which model, and how to train. Field names
// are those of the harness's trainer adapter. What is unset is not sent: the
// server takes a null section for a crash, so none is ever null.
type Config struct {
	IP        string `yaml:"ip" json:"ip"`                 // host of the control server; default 127.0.0.1
	Port      int    `yaml:"port" json:"port"`             // default 7999, as the server's own
	Name      string `yaml:"name" json:"name"`             // default "trainer_run"
	Project   string `yaml:"project" json:"project"`       // default "trainer_project"
	BaseModel string `yaml:"base_model" json:"base_model"` // default "Qwen/Qwen2.5-7B-Instruct"
	APIKey    string `yaml:"api_key" json:"-"`             // of the inference port; default "default"

	DeleteOldCheckpoints bool `yaml:"delete_old_checkpoints" json:"delete_old_checkpoints"` // before training; keeps the newest and the best

	InitArgs   InitArgs       `yaml:"init_args" json:"init_args"`
	EngineArgs EngineArgs     `yaml:"engine_args" json:"engine_args"`
	PeftArgs   map[string]any `yaml:"peft_args" json:"peft_args"`
	TrainArgs  map[string]any `yaml:"trainer_args" json:"trainer_args"`
	Internal   map[string]any `yaml:"internal_config" json:"internal_config"` // further keys of the model's _internal_config
	ServerArgs map[string]any `yaml:"server_args" json:"server_args"`         // of the inference server: host, port, tool_call_parser, ...
	Training   Training       `yaml:"training" json:"training"`
	DevConfig  map[string]any `yaml:"dev_config" json:"dev_config"` // ART's dev.TrainConfig: scale_rewards, epsilon, ...

	Target               string `yaml:"target" json:"target"`                                 // names this trainer in the ledger when its address changes between runs; default its address
	AcceptPlainAssistant bool   `yaml:"accept_plain_assistant" json:"accept_plain_assistant"` // send rows whose input holds assistant messages, although ART 0.4 trains on them
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
	Beta         *float64 `yaml:"beta" json:"beta,omitempty"`                   // KL penalty; default 0.0
}
