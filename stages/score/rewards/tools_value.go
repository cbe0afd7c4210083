package rewards

import (
	"errors"
	"fmt"

	"github.com/rollmill/rollmill/stages/score"
)

// The ways to compare.
const (
	every      = "all"
	share      = "share"
	toolsExact = "exact"
)

type toolsReward struct {
	mode   string
	field  string
	wanted []call // when given as a literal
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
