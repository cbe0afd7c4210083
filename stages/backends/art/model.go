package art

import (
	"maps"

	"github.com/rollmill/rollmill/formats/foreign/art"
)

func (c Config) model() art.Model {
	return art.Model{Name: c.Name, Project: c.Project, BaseModel: c.BaseModel, Trainable: true, InternalConfig: c.internal()}
}

// internal returns the model's _internal_config: sections without a key are left out, because
// the server expects a dictionary in a section that is present.
func (c Config) internal() map[string]any {
	out := present(c.Internal)
	section(out, "init_args", c.InitArgs.More, "max_seq_length", c.InitArgs.MaxSeqLength)
	section(out, "engine_args", c.EngineArgs.More, "gpu_memory_utilization", c.EngineArgs.GPUMemoryUtilization)
	section(out, "engine_args", nil, "tensor_parallel_size", c.EngineArgs.TensorParallelSize)
	section[int](out, "peft_args", c.PeftArgs, "", nil)
	section[int](out, "trainer_args", c.TrainArgs, "", nil)
	return out
}

func section[T any](config map[string]any, name string, more map[string]any, key string, value *T) {
	keys := present(more)
	if value != nil {
		keys[key] = *value
	}
	if len(keys) == 0 {
		return
	}
	if old, ok := config[name].(map[string]any); ok {
		maps.Copy(old, keys)
		return
	}
	config[name] = keys
}

// present copies a section without the keys, at any depth, that are null.
func present(m map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		switch v := v.(type) {
		case nil:
		case map[string]any:
			out[k] = present(v)
		default:
			out[k] = v
		}
	}
	return out
}

func (c Config) serverArgs() map[string]any {
	args := present(c.ServerArgs)
	if _, given := args["api_key"]; !given && c.APIKey != "" && c.APIKey != "default" {
		args["api_key"] = c.APIKey
	}
	return args
}

// scales reports whether ART will divide by the standard deviation.
func (c Config) scales() bool {
	scale, given := c.DevConfig["scale_rewards"].(bool)
	return scale || !given
}

func (c Config) limits(d dialect) art.Limits {
	l := art.Limits{NoHistories: !d.Histories, PlainAssistants: c.AcceptPlainAssistant, Plain: d.plain()}
	if c.InitArgs.MaxSeqLength != nil {
		l.MaxSeqLength = *c.InitArgs.MaxSeqLength
	}
	return l
}
