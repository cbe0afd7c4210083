package sandbox

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
)

// calling is what a request says about tools.
type calling struct {
	names    []string          // that may be called
	takes    map[string]schema // the parameters of each
	chance   float64           // of a call, over an answer in words
	parallel bool
}

// The prior of tools, as words have one: after a user's message the policy calls a tool more
// often than not, and after a tool's result it answers in words more often than not.
const (
	chanceAsked     = 0.9
	chanceAfterTool = 0.1
	chanceParallel  = 0.1 // of one more call in the same answer
	maxCalls        = 4
)

// offer appends the logit of a call to the logits of the words.
func (c *calling) offer(logits *[words + 1]float64) []float64 {
	normalise(logits[:words])
	for w := range words {
		logits[w] += math.Log(1 - c.chance)
	}
	logits[words] = math.Log(c.chance)
	return logits[:]
}

// schema is the part of a JSON schema that the policy reads.
type schema struct {
	Type       json.RawMessage   `json:"type"`
	Enum       []json.RawMessage `json:"enum"`
	Const      json.RawMessage   `json:"const"`
	AnyOf      []schema          `json:"anyOf"`
	OneOf      []schema          `json:"oneOf"`
	Properties map[string]schema `json:"properties"`
	Required   *[]string         `json:"required"`
}

// kind returns the type; the first of several.
func (s schema) kind() string {
	var one string
	if json.Unmarshal(s.Type, &one) == nil && one != "" {
		return one
	}
	var several []string
	if json.Unmarshal(s.Type, &several) == nil && len(several) > 0 {
		return several[0]
	}
	if s.Properties != nil {
		return "object"
	}
	return "string"
}

// written lists the properties that the policy writes: the required ones, or
// all if the schema does not name any as required.
func (s schema) written() []string {
	if s.Required != nil {
		return *s.Required
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

type toolDefinition struct {
	Type     string `json:"type"`
	Function struct {
		Name       string `json:"name"`
		Parameters schema `json:"parameters"`
	} `json:"function"`
}

func hasTools(raw json.RawMessage) bool {
	var list []json.RawMessage
	return json.Unmarshal(raw, &list) == nil && len(list) > 0
}

// calling reads "tools" and "tool_choice"; nil if no tool may be called.
func (r *chatRequest) calling() (*calling, *apiError) {
	if !hasTools(r.Tools) {
		return nil, nil
	}
	var tools []toolDefinition
	if err := json.Unmarshal(r.Tools, &tools); err != nil {
		return nil, badRequest("tools", "tools: %v", err)
	}
	c := &calling{takes: map[string]schema{}, chance: chanceAsked, parallel: r.Parallel == nil || *r.Parallel}
	for i, t := range tools {
		if t.Type != "function" || t.Function.Name == "" {
			return nil, badRequest("tools", "tools[%d]: must be of type function, and have a name", i)
		}
		if _, twice := c.takes[t.Function.Name]; !twice {
			c.names = append(c.names, t.Function.Name)
		}
		c.takes[t.Function.Name] = t.Function.Parameters
	}
	for i := len(r.Messages) - 1; i >= 0 && r.Messages[i].Role != "user"; i-- {
		if r.Messages[i].Role == "tool" {
			c.chance = chanceAfterTool
		}
	}
	return c, c.choose(r.ToolChoice)
}

// choose restricts the tools to what "tool_choice" says.
func (c *calling) choose(raw json.RawMessage) *apiError {
	var named struct{ Function struct{ Name string } }
	switch text := strings.TrimSpace(string(raw)); {
	case text == "", text == "null", text == `"auto"`:
	case text == `"none"`:
		c.chance = 0
	case text == `"required"`:
		c.chance = 1
	case json.Unmarshal(raw, &named) == nil && slices.Contains(c.names, named.Function.Name):
		c.chance, c.names, c.parallel = 1, []string{named.Function.Name}, false
	default:
		return badRequest("tool_choice", "tool_choice %s: must be none, auto, required, or name one of the tools", raw)
	}
	return nil
}

// toolsText describes the tools to the policy, as the first turn of a prompt.
func toolsText(raw json.RawMessage) string {
	var list []json.RawMessage
	json.Unmarshal(raw, &list)
	text := "# Tools"
	for _, t := range list {
		text += "\n" + compact(t)
	}
	return text
}
