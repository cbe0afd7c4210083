package apis

import (
	"encoding/json"
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// responsesBody is an answer in the form of OpenAI's Responses API. What it repeats of the request follows it.
type responsesBody struct {
	ID         string            `json:"id"`
	Object     string            `json:"object"`
	Created    json.RawMessage   `json:"created_at"`
	Status     string            `json:"status"`
	Error      *string           `json:"error"`
	Incomplete map[string]string `json:"incomplete_details"` // its reason; nil for a whole answer
	Model      string            `json:"model"`
	Output     []*responsesItem  `json:"output"`
	Usage      responsesUsage    `json:"usage"`
}

type responsesUsage struct {
	Input        int32 `json:"input_tokens"`
	InputDetails struct {
		Cached int32 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Output        int32 `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int32 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int32 `json:"total_tokens"`
}

// echoed are the fields of a response that repeat the request, with their defaults.
var echoed = jsontext.ParseObject([]byte(`{"instructions":null,"max_output_tokens":null,"metadata":{},"parallel_tool_calls":true,` +
	`"previous_response_id":null,"reasoning":null,"store":true,"temperature":null,"text":{"format":{"type":"text"}},"tool_choice":"auto",` +
	`"tools":[],"top_p":null,"truncation":"disabled","user":null}`))

// Encode returns an answer of chat completions as a response. Of several choices,
// which that API does not have, it returns the first.
func (responsesTranslator) Encode(q *Request, a *completion.Answer, visible []byte) []byte {
	top := jsontext.ParseObject(visible)
	m := &a.Choices[0].Message
	out := responsesBody{ID: q.ID, Object: "response", Created: []byte("0"), Status: "completed", Model: a.Model,
		Output: q.items(a, m, top)}
	if created := top.Get("created"); json.Valid(created) {
		out.Created = created
	}
	if reason := map[string]string{"length": "max_output_tokens",
		"content_filter": "content_filter"}[m.FinishReason]; reason != "" {
		out.Status, out.Incomplete = "incomplete", map[string]string{"reason": reason}
	}
	u := &out.Usage
	u.Input, u.Output, u.Total, u.InputDetails.Cached = a.Usage.Prompt, a.Usage.Completion, a.Usage.Prompt+
		a.Usage.Completion, a.Usage.Cached
	details := jsontext.ParseObject(jsontext.ParseObject(top.Get("usage")).Get("completion_tokens_details"))
	u.OutputDetails.Reasoning = completion.ParseCount(details.Get("reasoning_tokens"))
	o := jsontext.ParseObject(encode(out))
	for _, f := range echoed {
		if q.Original.Has(f.Key) {
			f.Raw = q.Original.Get(f.Key)
		}
		o.Set(f.Key, f.Raw)
	}
	return o.Bytes()
}

// Arguments returns what the agent sees of a call: of a custom tool, an input.
func (responsesTranslator) Arguments(q *Request, c *formats.ToolCall) string {
	if q.responses.custom[c.Name] {
		return string(customArguments(customInput(c.Arguments)))
	}
	return c.Arguments
}

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
