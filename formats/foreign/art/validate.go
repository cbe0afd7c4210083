package art

import (
	"encoding/json"
	"fmt"
	"math"
)

// Detail is one entry of a server's 422 response.
type Detail struct {
	Type string `json:"type"`
	Loc  []any  `json:"loc"`
	Msg  string `json:"msg"`
}

// Validate returns what the models of an ART 0.4 server would refuse in groups
// as they are sent, and the groups that it could read.
func Validate(raw json.RawMessage) ([]Group, []Detail) {
	v := validator{}
	groups := list(&v, raw, []any{"body", "trajectory_groups"}, v.group)
	return groups, v.details
}

type validator struct{ details []Detail }

func (v *validator) fail(kind, msg string, loc []any, more ...any) {
	if len(v.details) < 20 {
		v.details = append(v.details, Detail{kind, append(append([]any{}, loc...), more...), msg})
	}
}

func list[T any](v *validator, raw json.RawMessage, loc []any, read func(json.RawMessage, []any) T) []T {
	var items []json.RawMessage
	if len(raw) == 0 {
		v.fail("missing", "Field required", loc)
		return nil
	}
	if json.Unmarshal(raw, &items) != nil || items == nil {
		v.fail("list_type", "Input should be a valid list", loc)
		return nil
	}
	out := make([]T, len(items))
	for i, item := range items {
		out[i] = read(item, append(append([]any{}, loc...), i))
	}
	return out
}

func (v *validator) group(raw json.RawMessage, loc []any) Group {
	f := v.object(raw, loc)
	return Group{Trajectories: list(v, f["trajectories"], append(loc, "trajectories"), v.trajectory)}
}

func (v *validator) trajectory(raw json.RawMessage, loc []any) Trajectory {
	f := v.object(raw, loc)
	t := Trajectory{History: v.history(raw, loc)}
	if more := f["additional_histories"]; more != nil {
		t.AdditionalHistories = list(v, more, append(loc, "additional_histories"), v.history)
	}
	if f["reward"] == nil {
		v.fail("missing", "Field required", loc, "reward")
	} else if json.Unmarshal(f["reward"], &t.Reward) != nil || string(f["reward"]) == "null" {
		v.fail("float_type", "Input should be a valid number", loc, "reward")
	}
	t.Metrics = v.flat(f["metrics"], false, append(loc, "metrics"))
	t.Metadata = v.flat(f["metadata"], true, append(loc, "metadata"))
	return t
}

// flat reads a map without nested values. texts allows strings and nulls, as in
// metadata.
func (v *validator) flat(raw json.RawMessage, texts bool, loc []any) map[string]any {
	out := map[string]any{}
	if raw != nil && json.Unmarshal(raw, &out) != nil {
		v.fail("dict_type", "Input should be a valid dictionary", loc)
	}
	for key, value := range out {
		switch value.(type) {
		case float64, bool:
			continue
		case string, nil:
			if texts {
				continue
			}
		}
		v.fail("union_type", "Input should be a valid number or bool", loc, key)
	}
	return out
}

func (v *validator) history(raw json.RawMessage, loc []any) History {
	f := v.object(raw, loc)
	h := History{Tools: f["tools"]}
	h.Entries = list(v, f["messages_and_choices"], append(loc, "messages_and_choices"), v.entry)
	if h.Tools != nil && string(h.Tools) != "null" && h.Tools[0] != '[' {
		v.fail("list_type", "Input should be a valid list", loc, "tools")
	}
	return h
}

func (v *validator) entry(raw json.RawMessage, loc []any) Entry {
	f := v.object(raw, loc)
	var e Entry
	if err := json.Unmarshal(raw, &e); err != nil {
		v.fail("union_error", err.Error(), loc)
		return e
	}
	if e.Choice != nil {
		v.choice(e.Choice, f, append(loc, "Choice"))
		return e
	}
	switch e.Message.Role {
	case "developer", "system", "user", "assistant":
	case "tool":
		v.need(f, "tool_call_id", loc)
	case "function":
		v.need(f, "name", loc)
	default:
		v.fail("literal_error", fmt.Sprintf("Input should be a role, not %q", e.Message.Role), loc, "role")
	}
	return e
}

func (v *validator) need(f map[string]json.RawMessage, key string, loc []any) {
	if f[key] == nil {
		v.fail("missing", "Field required", loc, key)
	}
}

func (v *validator) choice(c *Choice, f map[string]json.RawMessage, loc []any) {
	v.need(f, "index", loc)
	if !finishes[c.FinishReason] {
		v.fail("literal_error", "Input should be 'stop', 'length', 'tool_calls', 'content_filter' or 'function_call'", loc,
			"finish_reason")
	}
	if c.Message.Role != "assistant" {
		v.fail("literal_error", "Input should be 'assistant'", loc, "message", "role")
	}
	if c.Logprobs == nil {
		return
	}
	for i, t := range c.Logprobs.Content {
		if t.TopLogprobs == nil {
			v.fail("missing", "Field required", loc, "logprobs", "content", i, "top_logprobs")
		}
		if math.IsNaN(t.Logprob) || t.Token == "" {
			v.fail("missing", "Field required", loc, "logprobs", "content", i, "token")
		}
	}
}

func (v *validator) object(raw json.RawMessage, loc []any) map[string]json.RawMessage {
	var f map[string]json.RawMessage
	if json.Unmarshal(raw, &f) != nil || f == nil {
		v.fail("model_type", "Input should be a valid dictionary or object", loc)
	}
	return f
}
