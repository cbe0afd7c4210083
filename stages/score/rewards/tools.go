package rewards

import (
	"encoding/json"
	"fmt"

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

var toolsModes = []string{every, share, toolsExact}

type ToolsSettings struct {
	Mode  string
	Field string
	Text  *string // a literal in place of the field
}

func (s *ToolsSettings) Declare(d *plugin.Declarer) {
	plugin.Choice(d, &s.Mode, "mode",
		"reward by this `MODE`: all (1 when all expected calls were made), share (the share of them), or exact (1 when exactly "+
			"these were made, in order); for all and share, other calls and further arguments do not count", toolsModes...).FirstInSpec()
	d.String(&s.Field, "field", "take the expected calls from this `FIELD` of the example")
	d.OptionalString(&s.Text, "text",
		"expect the calls of this `JSON` list, in place of a field; it must be last, and may contain commas").LastInSpec()
}

func (s *ToolsSettings) Reward(score.Setup) (score.Reward, error) {
	if s.Mode == "" {
		return nil, &plugin.ChoiceError{Choices: toolsModes}
	}
	r := &toolsReward{mode: s.Mode, field: s.Field}
	reward := newOfRow(score.Description{Detail: score.Text}, r.value)
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
