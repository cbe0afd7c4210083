package apis

import (
	"fmt"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// setResponsesTools offers the tools that the agent runs, those of a namespace by
// their full names. Those that only OpenAI's servers run are left out.
func (q *Request) setResponsesTools(v []byte) {
	var list [][]byte
	q.responses.custom, q.responses.spaces = map[string]bool{}, map[string]string{}
	add := func(o jsontext.Object) {
		switch kind := jsontext.Unquote(o.Get("type")); kind {
		case "function":
			list = append(list, functionTool(o, "parameters"))
		case "custom":
			q.responses.custom[jsontext.Unquote(o.Get("name"))] = true
			list = append(list, customTool(o))
		default:
			q.responses.leftOut = append(q.responses.leftOut, kind)
		}
	}
	for raw := range jsontext.Elements(v) {
		o := jsontext.ParseObject(raw)
		space := jsontext.Unquote(o.Get("name"))
		if jsontext.Unquote(o.Get("type")) != "namespace" || space == "" {
			add(o)
			continue
		}
		for inner := range jsontext.Elements(o.Get("tools")) {
			tool := jsontext.ParseObject(inner)
			tool.Set("namespace", encode(space))
			name := fullName(tool)
			q.responses.spaces[name] = space
			tool.Set("name", encode(name))
			add(tool)
		}
	}
	q.setChatTools(list)
}

// customTool returns a tool whose input is a text as a function with one
// argument. Its grammar becomes a part of the description.
func customTool(o jsontext.Object) []byte {
	description := jsontext.Unquote(o.Get("description"))
	format := jsontext.ParseObject(o.Get("format"))
	if definition := jsontext.Unquote(format.Get("definition")); definition != "" {
		description += fmt.Sprintf("\n\nThe input follows this grammar (%s):\n%s",
			jsontext.Unquote(format.Get("syntax")), definition)
	}
	function := jsontext.Object{field("name", orEmpty(o.Get("name"))), field("description", encode(description)),
		field("parameters", []byte(`{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}`))}
	return jsontext.Object{field("type", encode("function")), field("function", function.Bytes())}.Bytes()
}

func (q *Request) setResponsesToolChoice(v []byte) error {
	o := jsontext.ParseObject(v)
	if o == nil {
		q.Fields.Set("tool_choice", v)
		return nil
	}
	switch kind := jsontext.Unquote(o.Get("type")); kind {
	case "function", "custom":
		q.forceTool(fullName(o))
		return nil
	default:
		return fmt.Errorf("tool_choice: %q cannot be given to a chat completions engine", kind)
	}
}
