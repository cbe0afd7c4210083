package arttest

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rollmill/rollmill/formats/foreign/art/wiretest"
)

// validate reads groups as they are sent. An error says what the models of an ART
// 0.4 server would refuse first.
func validate(raw json.RawMessage) (groups []wiretest.Group, err error) {
	if err := json.Unmarshal(raw, &groups); err != nil {
		return nil, err
	}
	if groups == nil {
		return nil, errMissing("trajectory_groups")
	}
	for i := range groups {
		if err := validGroup(&groups[i]); err != nil {
			return nil, fmt.Errorf("group %d: %w", i, err)
		}
	}
	return groups, nil
}

func errMissing(field string) error { return fmt.Errorf("%s is missing", field) }

func validGroup(g *wiretest.Group) error {
	if g.Trajectories == nil {
		return errMissing("trajectories")
	}
	for i := range g.Trajectories {
		t := &g.Trajectories[i]
		for _, h := range append([]wiretest.History{t.History}, t.AdditionalHistories...) {
			if err := validHistory(&h); err != nil {
				return fmt.Errorf("trajectory %d: %w", i, err)
			}
		}
		switch {
		case t.Reward == nil:
			return errMissing("reward")
		case !flat(t.Metrics, false) || !flat(t.Metadata, true):
			return errors.New("metrics or metadata hold a value of another type")
		}
	}
	return nil
}

// flat reports whether a map has numbers and truth values only; with texts, also
// strings and nulls, as in metadata.
func flat(m map[string]any, texts bool) bool {
	for _, v := range m {
		switch v.(type) {
		case float64, bool:
		case string, nil:
			if !texts {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func validHistory(h *wiretest.History) error {
	if h.Entries == nil {
		return errMissing("messages_and_choices")
	}
	if len(h.Tools) > 0 && string(h.Tools) != "null" && h.Tools[0] != '[' {
		return errors.New("tools are no list")
	}
	for i, e := range h.Entries {
		var err error
		if e.Choice != nil {
			err = validChoice(e.Choice)
		} else {
			err = validMessage(e.Message)
		}
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	return nil
}

func validMessage(m *wiretest.Message) error {
	switch m.Role {
	case "developer", "system", "user", "assistant":
	case "tool":
		if m.ToolCallID == "" {
			return errMissing("tool_call_id")
		}
	case "function":
		if m.Name == "" {
			return errMissing("name")
		}
	default:
		return fmt.Errorf("%q is no role", m.Role)
	}
	return nil
}

var finishes = map[string]bool{"stop": true, "length": true, "tool_calls": true, "content_filter": true, "function_call": true}

func validChoice(c *wiretest.Choice) error {
	switch {
	case c.Index == nil:
		return errMissing("index")
	case !finishes[c.FinishReason]:
		return fmt.Errorf("%q is no finish_reason", c.FinishReason)
	case c.Message.Role != "assistant":
		return fmt.Errorf("a choice is of role %q", c.Message.Role)
	case c.Logprobs == nil:
		return nil
	}
	for i, t := range c.Logprobs.Content {
		if t.TopLogprobs == nil || t.Token == "" {
			return fmt.Errorf("logprob %d lacks its token or top_logprobs", i)
		}
	}
	return nil
}
