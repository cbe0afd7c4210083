package value

import (
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Generated reports whether an item of the Responses API is one that a model
// generates: a message of the assistant, reasoning, or a call of a tool.
func Generated(o jsontext.Object) bool {
	kind := jsontext.Unquote(o.Get("type"))
	if kind == "message" || kind == "" {
		return jsontext.Unquote(o.Get("role")) == "assistant"
	}
	return !strings.HasSuffix(kind, "_output")
}

// Item adds an item that a model generated. One of a built-in tool, such as a
// search of the web, becomes a part of the content.
func (c *Content) Item(o jsontext.Object, raw []byte) {
	m := c.Message
	switch kind := must.Text("type", o.Get("type")); kind {
	case "message", "":
		c.parts(o.Get("content"))
	case "reasoning":
		for _, name := range []string{"content", "summary"} {
			if list := o.Get(name); o.Has(name) && len(list) > len("[]") {
				for part := range jsontext.Elements(must.List(name, list)) {
					c.Think(must.Text(name+".text", must.Object(name, part).Get("text")))
				}
				break // the summary is of the content
			}
		}
		c.Reasoning = append(c.Reasoning, raw)
	case "function_call", "custom_tool_call", "local_shell_call":
		t := formats.ToolCall{ID: must.Text("call_id", o.Get("call_id")), Name: must.Text("name", o.Get("name"))}
		switch kind {
		case "function_call":
			t.Arguments = jsontext.AnyText(o.Get("arguments"))
		case "custom_tool_call":
			t.Arguments = jsontext.AnyText(o.Get("input"))
		default:
			t.Name, t.Arguments = "local_shell", jsontext.AnyText(o.Get("action"))
		}
		m.ToolCalls = append(m.ToolCalls, t)
	default:
		c.Parts = append(c.Parts, raw)
	}
}

// parts adds the content of an item: a text, or a list of parts.
func (c *Content) parts(v []byte) {
	for _, part := range c.Read(v) {
		c.Parts = append(c.Parts, part)
	}
}

// InputItem reads an item that no model generated: a message, or the result of
// a tool. rest is what a result has beside its content.
func InputItem(o jsontext.Object) (m formats.Message, rest jsontext.Object) {
	c := Content{Message: &m}
	v := o.Get("content")
	if m.Role = must.Text("role", o.Get("role")); strings.HasSuffix(must.Text("type", o.Get("type")), "_output") {
		m.Role, m.ToolCallID = "tool", must.Text("call_id", o.Get("call_id"))
		v = o.Get("output")
		if body := jsontext.ParseObject(v); body != nil {
			v, rest = body.Get("content"), body
			rest.Drop("content")
		}
	}
	c.parts(v)
	c.Set()
	return m, rest
}
