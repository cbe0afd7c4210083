package recorder

import (
	"fmt"

	"github.com/rollmill/rollmill/formats/jsonscan"
)

var sameFunctionFields = [][2]string{{"name", "name"}, {"description", "description"}, {"parameters", "parameters"}, {"strict", "strict"}}

// setResponseTools offers the tools that the agent runs, those of a namespace by
// their full names. Those that only OpenAI's servers run are left out, because
// clients offer them to every server.
func (q *request) setResponseTools(v []byte) {
	var list [][]byte
	add := func(o jsonscan.Object) {
		if tool := q.responseTool(o); tool != nil {
			list = append(list, tool)
		} else {
			q.response.leftOut = append(q.response.leftOut, jsonscan.Unquote(o.Get("type")))
		}
	}
	for raw := range jsonscan.Elements(v) {
		o := jsonscan.ParseObject(raw)
		space := jsonscan.Unquote(o.Get("name"))
		if jsonscan.Unquote(o.Get("type")) != "namespace" || space == "" {
			add(o)
			continue
		}
		for inner := range jsonscan.Elements(o.Get("tools")) {
			tool := jsonscan.ParseObject(inner)
			tool.Set("namespace", encode(space))
			name := fullName(tool)
			mark(&q.response.spaces, name, space)
			tool.Set("name", encode(name))
			add(tool)
		}
	}
	q.offer(list)
}

// responseTool returns a tool as chat completions describe it, nil if they cannot.
func (q *request) responseTool(o jsonscan.Object) []byte {
	switch jsonscan.Unquote(o.Get("type")) {
	case "function":
		return functionTool(o, sameFunctionFields)
	case "custom":
		mark(&q.response.custom, jsonscan.Unquote(o.Get("name")), true)
		return customTool(o)
	}
	return nil
}

func mark[T any](m *map[string]T, name string, v T) {
	if *m == nil {
		*m = map[string]T{}
	}
	(*m)[name] = v
}

// customTool returns a tool whose input is a text as a function with one
// argument. Its grammar becomes a part of the description.
func customTool(o jsonscan.Object) []byte {
	description := jsonscan.Unquote(o.Get("description"))
	format := jsonscan.ParseObject(o.Get("format"))
	if definition := jsonscan.Unquote(format.Get("definition")); definition != "" {
		description += fmt.Sprintf("\n\nThe input follows this grammar (%s):\n%s", jsonscan.Unquote(format.Get("syntax")), definition)
	}
	function := jsonscan.Object{field("name", orEmpty(o.Get("name"))), field("description", encode(description)),
		field("parameters", []byte(`{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}`))}
	return jsonscan.Object{field("type", encode("function")), field("function", function.Bytes())}.Bytes()
}

func (q *request) setResponseToolChoice(v []byte) error {
	o := jsonscan.ParseObject(v)
	if o == nil {
		q.fields.Set("tool_choice", v)
		return nil
	}
	switch kind := jsonscan.Unquote(o.Get("type")); kind {
	case "function", "custom":
		q.force(fullName(o))
		return nil
	default:
		return fmt.Errorf("tool_choice: %q cannot be given to a chat completions engine", kind)
	}
}
