package otel

import (
	"cmp"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

func newMessage(role string) importers.Read {
	return importers.Read{Message: formats.Message{Role: roleOf(role), Parent: -1, Call: -1}}
}

var roles = map[string]string{"model": "assistant", "ai": "assistant", "human": "user", "function": "tool"}

func roleOf(role string) string {
	role = strings.ToLower(role)
	return cmp.Or(roles[role], role)
}

// readMessages reads messages: a list or one, or the text of either. A text that
// is no JSON is one message of a role.
func readMessages(field string, v []byte, role string) (out []importers.Read) {
	for range 2 {
		if len(v) == 0 || v[0] != '"' {
			break
		}
		text := jsontext.Unquote(v)
		inner, err := value.Check([]byte(text))
		if err != nil || inner[0] != '[' && inner[0] != '{' && inner[0] != '"' {
			m := newMessage(role)
			m.Content = text
			return []importers.Read{m}
		}
		v = inner
	}
	if len(v) == 0 || string(v) == "null" {
		return nil
	}
	list := v
	if v[0] == '{' {
		list = value.Join([][]byte{v})
	}
	must.Each(field, must.List(field, list), func(raw []byte) { out = append(out, readMessage(raw, role)...) })
	return out
}

// readMessage reads a message with parts, or one of the chat completions API.
// role is that of one that says none. A message with several results of tools
// gives one for each.
func readMessage(raw []byte, role string) (out []importers.Read) {
	o := must.Object("a message", raw)
	if !o.Has("role") {
		o.Set("role", importers.Quote(role))
	}
	o.Set("role", importers.Quote(roleOf(must.Text("role", o.Get("role")))))
	if !o.Has("parts") {
		var m importers.Read
		m.Message, m.Others = value.Message(o.Bytes())
		if m.Role == "tool" && m.ToolCallID == "" {
			m.ToolCallID = jsontext.Unquote(o.Get("id"))
		}
		return []importers.Read{finished(m)}
	}
	m := newMessage(must.Text("role", o.Get("role")))
	m.Name = must.Text("name", o.Get("name"))
	c := value.Content{Message: &m.Message}
	for part := range jsontext.Elements(must.List("parts", o.Get("parts"))) {
		if result, is := readPart(&c, part); is {
			out = append(out, result)
		}
	}
	c.Set()
	m.Others = value.Without(o, "role", "parts", "name")
	m = finished(m)
	if len(out) == 0 || len(c.Parts) > 0 || len(m.ToolCalls) > 0 || m.Reasoning != "" {
		out = append(out, m)
	}
	return out
}

// finished returns a message with its finish reason, which some conventions keep in it.
func finished(m importers.Read) importers.Read {
	if reason := jsontext.Unquote(m.Others.Get("finish_reason")); reason != "" {
		m.FinishReason = finishReason(reason)
		m.Others.Drop("finish_reason")
	}
	return m
}

// finishReason returns a reason in the words of the chat completions API.
func finishReason(text string) string {
	if text == "tool_call" {
		return "tool_calls"
	}
	return text
}

// readPart adds a part to a message; a result of a tool is a message of its own.
func readPart(c *value.Content, raw []byte) (result importers.Read, is bool) {
	o := must.Object("parts", raw)
	switch kind := must.Text("parts.type", o.Get("type")); kind {
	case "text":
		must.Text("parts.content", o.Get("content"))
		if o.Has("content") {
			c.Text(o.Get("content"))
		}
	case "reasoning", "thinking":
		c.Think(must.Text("parts.content", o.Get("content")))
	case "tool_call":
		t := formats.ToolCall{ID: must.ID("parts.id", o.Get("id")), Name: must.Text("parts.name", o.Get("name")),
			Arguments: jsontext.AnyText(o.Get("arguments"))}
		c.Message.ToolCalls = append(c.Message.ToolCalls, t)
	case "tool_call_response":
		m := newMessage("tool")
		m.ToolCallID = must.ID("parts.id", o.Get("id"))
		m.Content = jsontext.AnyText(o.First("response", "result", "content")) // a text as it is
		return m, true
	default:
		c.Parts = append(c.Parts, raw)
	}
	return importers.Read{}, false
}

func openInference(n *node, role string) (out []importers.Read) {
	for _, item := range n.list() {
		n := item.get("message")
		if n == nil {
			n = item
		}
		m := newMessage(cmp.Or(n.text("role"), role))
		m.Name, m.ToolCallID = n.text("name"), n.text("tool_call_id")
		c := value.Content{Message: &m.Message}
		if v := n.get("content"); v != nil && len(v.raw) > 0 {
			c.Text(importers.Quote(n.text("content")))
		}
		for _, part := range n.list("contents") {
			openInferencePart(&c, part)
		}
		c.Set()
		for _, t := range n.list("tool_calls") {
			m.ToolCalls = append(m.ToolCalls, openInferenceCall(t))
		}
		if name := n.text("function_call_name"); name != "" {
			m.ToolCalls = append(m.ToolCalls, formats.ToolCall{Name: name, Arguments: n.text("function_call_arguments_json")})
		}
		out = append(out, m)
	}
	return out
}

func openInferenceCall(n *node) formats.ToolCall {
	if t := n.get("tool_call"); t != nil {
		n = t
	}
	return formats.ToolCall{ID: n.text("id"), Name: n.text("function", "name"), Arguments: n.text("function", "arguments")}
}

func openInferencePart(c *value.Content, n *node) {
	p := n.get("message_content")
	switch p.text("type") {
	case "text":
		c.Text(importers.Quote(p.text("text")))
	case "reasoning":
		c.Think(p.text("text"))
	case "tool_use":
		c.Message.ToolCalls = append(c.Message.ToolCalls, openInferenceCall(n))
	case "image":
		url := jsontext.Object{{Key: "url", Raw: importers.Quote(p.text("image", "image", "url"))}}
		c.Parts = append(c.Parts,
			jsontext.Object{{Key: "type", Raw: []byte(`"image_url"`)}, {Key: "image_url", Raw: url.Bytes()}}.Bytes())
	default:
		if raw := p.json(); len(raw) > 0 && raw[0] == '{' {
			c.Parts = append(c.Parts, raw)
		}
	}
}

// openLLMetry reads the messages of the attributes gen_ai.prompt.N and gen_ai.completion.N.
func openLLMetry(n *node, role string) (out []importers.Read) {
	for _, item := range n.list() {
		m := newMessage(cmp.Or(item.text("role"), role))
		m.ToolCallID = item.text("tool_call_id")
		m.Content = item.text("content")
		m.FinishReason = finishReason(item.text("finish_reason"))
		for _, t := range item.list("tool_calls") {
			m.ToolCalls = append(m.ToolCalls,
				formats.ToolCall{ID: t.text("id"), Name: t.text("name"), Arguments: t.text("arguments")})
		}
		out = append(out, m)
	}
	return out
}
