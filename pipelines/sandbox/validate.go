package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// readGroups reads trajectory_groups and lists what FastAPI would refuse.
func readGroups(raw json.RawMessage) ([]trajectoryGroup, []invalid) {
	loc := []any{"body", "trajectory_groups"}
	var groups []trajectoryGroup
	if err := json.Unmarshal(raw, &groups); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
			loc = append(loc, wrong.Field)
		}
		return nil, []invalid{wrongType("model_type", "Input should be valid: "+err.Error(), nil, loc...)}
	}
	var bad []invalid
	for i, g := range groups {
		if g.Trajectories == nil {
			bad = append(bad, missing(nil, under(loc, i, "trajectories")...))
		}
		for k := range g.Trajectories {
			bad = append(bad, g.Trajectories[k].check(under(loc, i, "trajectories", k)...)...)
		}
	}
	return groups, bad
}

// check lists what makes a trajectory invalid.
func (t *trajectory) check(loc ...any) []invalid {
	var bad []invalid
	if t.Reward == nil {
		bad = append(bad, missing(nil, under(loc, "reward")...))
	}
	if t.Entries == nil {
		bad = append(bad, missing(nil, under(loc, "messages_and_choices")...))
	}
	for h, history := range t.histories() {
		at := under(loc, "messages_and_choices")
		if h > 0 {
			at = under(loc, "additional_histories", h-1, "messages_and_choices")
		}
		for i := range history.Entries {
			bad = append(bad, history.Entries[i].check(under(at, i)...)...)
		}
	}
	for name, value := range t.Metrics {
		if !number(value) {
			bad = append(bad, wrongType("float_type", "Input should be a valid number", value,
				under(loc, "metrics", name)...))
		}
	}
	return bad
}

func number(raw json.RawMessage) bool {
	return bytes.Equal(raw, []byte("true")) || bytes.Equal(raw, []byte("false")) ||
		len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

func under(loc []any, more ...any) []any { return append(slices.Clone(loc), more...) }

var finishReasons = []string{"stop", "length", "tool_calls", "content_filter", "function_call"}

// check lists what makes an entry neither a message nor a Choice.
func (e *entry) check(loc ...any) []invalid {
	if !e.isChoice() {
		if !slices.Contains(roles, e.Role) {
			return []invalid{wrongType("literal_error", "Input should be a message with a known role or a Choice", nil,
				under(loc, "role")...)}
		}
		return nil
	}
	at := under(loc, "Choice")
	var bad []invalid
	if e.FinishReason == nil || !slices.Contains(finishReasons, *e.FinishReason) {
		bad = append(bad, wrongType("literal_error",
			"Input should be 'stop', 'length', 'tool_calls', 'content_filter' or 'function_call'", nil,
			under(at, "finish_reason")...))
	}
	if e.Index == nil {
		bad = append(bad, missing(nil, under(at, "index")...))
	}
	if e.Message.Role != "assistant" {
		bad = append(bad, wrongType("literal_error", "Input should be 'assistant'", nil, under(at, "message", "role")...))
	}
	if e.Logprobs == nil {
		return bad
	}
	for i, t := range e.Logprobs.Content {
		absent := []bool{t.Token == nil, t.Logprob == nil, t.Top == nil}
		for k, name := range []string{"token", "logprob", "top_logprobs"} {
			if absent[k] {
				bad = append(bad, missing(nil, under(at, "logprobs", "content", i, name)...))
			}
		}
	}
	return bad
}

// settings are config and dev_config of a training call.
type settings struct {
	LearningRate float64 `json:"learning_rate"`
	Beta         float64 `json:"beta"`
	dev
}

type dev struct {
	AllowWithoutLogprobs bool     `json:"allow_training_without_logprobs"`
	Epsilon              *float64 `json:"epsilon"`
	EpsilonHigh          *float64 `json:"epsilon_high"`
	ScaleRewards         *bool    `json:"scale_rewards"`
}

func readSettings(config, devConfig json.RawMessage) (settings, []invalid) {
	s := settings{LearningRate: 5e-6}
	var bad []invalid
	if err := json.Unmarshal(config, &s); err != nil || !bytes.HasPrefix(config, []byte("{")) {
		bad = append(bad, wrongType("model_type", "Input should be a valid TrainConfig", config, "body", "config"))
	}
	s.dev = dev{}
	if err := json.Unmarshal(devConfig, &s.dev); err != nil || !bytes.HasPrefix(devConfig, []byte("{")) {
		bad = append(bad, wrongType("dict_type", "Input should be a valid dictionary", devConfig, "body", "dev_config"))
	}
	return s, bad
}

// rules converts the settings for the learner.
func (s settings) rules(scale float64) rules {
	r := rules{rate: s.LearningRate * scale, low: 0.2, penalty: s.Beta}
	set(&r.low, s.Epsilon)
	r.high = r.low
	set(&r.high, s.EpsilonHigh)
	return r
}
