package rewards

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
)

// Tools rewards the right tool calls with the right arguments. The
// expected calls come from a field of the example ("tool_calls", unless field
// names another) or from a literal, as a list of
//
//	{"name": "search", "arguments": {"query": "weather"}}
//
// without arguments if any will do. The actual calls are those that the model
// wrote on the main path.
//
//	tools:all               1 when every wanted call was made; others may be too
//	tools:share             the share of the wanted calls that were made
//	tools:exact             1 when exactly these were made, in this order
//	tools:all,text=[{"name":"finish"}]
//
// A call may have more arguments than the expected ones, except under exact. A
// call matches at most one expected call.
var Tools = score.RewardKind{Kind: plugin.Kind[score.RewardSettings]{
	Name: "tools",
	Help: "compare the model's tool calls with the expected ones",
	New:  func() score.RewardSettings { return &ToolsSettings{Field: "tool_calls"} },
}}

// The ways to compare.
const (
	every      = "all"
	share      = "share"
	toolsExact = "exact"
)

var toolsModes = []string{every, share, toolsExact}

// ToolsSettings are the reward's settings.
type ToolsSettings struct {
	Mode  string
	Field string
	Text  *string // a literal in place of the field
}

// Declare declares the settings.
func (s *ToolsSettings) Declare(d *plugin.Declarer) {
	plugin.Choice(d, &s.Mode, "mode",
		"reward by this `MODE`: all (1 when all expected calls were made), share (the share of them), or exact (1 when exactly "+
			"these were made, in order); for all and share, other calls and further arguments do not count", toolsModes...).FirstInSpec()
	d.String(&s.Field, "field", "take the expected calls from this `FIELD` of the example")
	d.OptionalString(&s.Text, "text",
		"expect the calls of this `JSON` list, in place of a field; it must be last, and may contain commas").LastInSpec()
}

// Reward makes the reward.
func (s *ToolsSettings) Reward(score.Setup) (score.Reward, error) {
	if s.Mode == "" {
		return nil, &plugin.ChoiceError{Choices: toolsModes}
	}
	r := &toolsReward{mode: s.Mode, field: s.Field}
	reward := newOfRow(score.Description{Needs: score.Text}, r.value)
	if s.Text == nil {
		return reward, nil
	}
	var list any
	if err := json.Unmarshal([]byte(*s.Text), &list); err != nil {
		return nil, fmt.Errorf("text is not JSON: %w", err)
	}
	var err error
	r.wanted, err = r.calls(list)
	return reward, err
}

type toolsReward struct {
	mode   string
	field  string
	wanted []call // when given as a literal
}

type call struct {
	name      string
	arguments map[string]any // nil: any
}

func (r *toolsReward) calls(v any) ([]call, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, errors.New("wanted tool calls are a list")
	}
	if len(list) == 0 && r.mode != toolsExact {
		return nil, errors.New("the list of wanted tool calls is empty, which every trajectory fulfils")
	}
	out := []call{}
	for i, item := range list {
		object, _ := item.(map[string]any)
		name, ok := object["name"].(string)
		if !ok {
			return nil, fmt.Errorf("wanted tool call %d has no name", i)
		}
		arguments, ok := object["arguments"].(map[string]any)
		if object["arguments"] != nil && !ok {
			return nil, fmt.Errorf("wanted tool call %d: its arguments are not an object", i)
		}
		out = append(out, call{name, arguments})
	}
	return out, nil
}

func (r *toolsReward) value(row *score.Row) score.Value {
	value, err := r.made(row)
	if err != nil {
		return score.FieldFailed(err)
	}
	return score.Value{Reward: value}
}

func (r *toolsReward) made(row *score.Row) (float64, error) {
	wanted := r.wanted
	if wanted == nil {
		field, err := row.Field(r.field)
		if err != nil {
			return 0, err
		}
		if wanted, err = r.calls(field); err != nil {
			return 0, fmt.Errorf("the field %q: %w", r.field, err)
		}
	}
	made := madeBy(row)
	if r.mode == toolsExact {
		return exactly(wanted, made), nil
	}
	found := matched(wanted, made)
	if r.mode == share {
		return float64(found) / float64(len(wanted)), nil
	}
	if found < len(wanted) {
		return 0, nil
	}
	return 1, nil
}

// madeBy returns the calls that the model made; arguments that are not an
// object match only an expected call without arguments.
func madeBy(row *score.Row) []call {
	var out []call
	for _, i := range row.Main() {
		m := &row.Messages[i]
		if !m.Sampled {
			continue
		}
		for _, c := range m.ToolCalls {
			made := call{name: c.Name}
			if json.Unmarshal([]byte(c.Arguments), &made.arguments) != nil {
				made.arguments = nil
			}
			out = append(out, made)
		}
	}
	return out
}

func exactly(wanted, made []call) float64 {
	if len(wanted) != len(made) {
		return 0
	}
	for i := range wanted {
		if !wanted[i].servedBy(made[i]) || wanted[i].arguments != nil && len(wanted[i].arguments) != len(made[i].arguments) {
			return 0
		}
	}
	return 1
}

// servedBy reports whether an actual call matches the expected one.
func (w call) servedBy(made call) bool {
	if w.name != made.name || w.arguments != nil && made.arguments == nil {
		return false
	}
	for key, value := range w.arguments {
		if got, ok := made.arguments[key]; !ok || !reflect.DeepEqual(got, value) {
			return false
		}
	}
	return true
}

// matched returns the largest number of expected calls that can be matched,
// each by a different call (augmenting paths; the lists are short).
func matched(wanted, made []call) int {
	server := make([]int, len(made)) // the wanted call each serves, plus 1
	var serve func(w int, tried []bool) bool
	serve = func(w int, tried []bool) bool {
		for m := range made {
			if tried[m] || !wanted[w].servedBy(made[m]) {
				continue
			}
			tried[m] = true
			if server[m] == 0 || serve(server[m]-1, tried) {
				server[m] = w + 1
				return true
			}
		}
		return false
	}
	found := 0
	for w := range wanted {
		if serve(w, make([]bool, len(made))) {
			found++
		}
	}
	return found
}
