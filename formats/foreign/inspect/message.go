package inspect

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// message is one of Inspect's chat messages.
type message struct {
	importers.Read
	ID, Source, Model string
}

// generated reports whether a model made the message in this conversation.
func (m *message) generated() bool { return m.Role == "assistant" && m.Source == "generate" }

// messages reads a list of messages.
func messages(field string, list []byte) (out []message) {
	must.Each(field, must.List(field, list), func(raw []byte) { out = append(out, readMessage(raw)) })
	return out
}

// readMessage reads a message.
func readMessage(raw []byte) (m message) {
	m.Parent, m.Call = -1, -1
	c := value.Content{Message: &m.Message}
	var calls []byte
	for _, f := range must.Object("a message", raw) {
		if string(f.Raw) == "null" {
			continue
		}
		switch f.Key {
		case "id":
			m.ID = must.Text("id", f.Raw)
		case "role":
			m.Role = must.Text("role", f.Raw)
		case "source":
			m.Source = must.Text("source", f.Raw)
		case "model":
			m.Model = must.Text("model", f.Raw)
		case "function":
			m.Name = must.Text("function", f.Raw)
		case "reasoning": // of logs before reasoning was a part of the content
			c.Think(must.Text("reasoning", f.Raw))
		case "content":
			readContent(&c, f.Raw)
		case "tool_calls":
			calls = must.List("tool_calls", f.Raw)
		case "tool_call_id":
			if f.Raw[0] == '"' {
				m.ToolCallID = must.Text("tool_call_id", f.Raw)
			} else { // a user's message may be about several
				m.Others = append(m.Others, f)
			}
		default:
			m.Others = append(m.Others, f)
		}
	}
	c.Set()
	readCalls(&m, calls)
	if m.Role == "" {
		must.Fail("a message has no role: %s", importers.Brief(raw))
	}
	if m.Source == "operator" {
		m.Others = append(m.Others, jsontext.Member{Key: "source", Raw: importers.Quote(m.Source)})
	}
	if len(c.Reasoning) > 0 {
		m.Others = append(m.Others, jsontext.Member{Key: "reasoning_parts", Raw: value.Join(c.Reasoning)})
	}
	return m
}

// readContent reads a text, or parts.
func readContent(c *value.Content, v []byte) {
	for o, part := range c.Read(v) {
		switch must.Text("content.type", o.Get("type")) {
		case "text":
			must.Text("content.text", o.Get("text"))
			c.Parts = append(c.Parts, part)
		case "reasoning":
			c.Think(reasoning(o))
			if o.Has("signature") || o.Has("summary") || jsontext.IsTrue(o.Get("redacted")) {
				c.Reasoning = append(c.Reasoning, part)
			}
		case "image":
			c.Parts = append(c.Parts, image(o))
		default:
			c.Parts = append(c.Parts, part)
		}
	}
}

// reasoning returns a text to read: of a redacted one, only its summary is.
func reasoning(o jsontext.Object) string {
	if jsontext.IsTrue(o.Get("redacted")) {
		return must.Text("content.summary", o.Get("summary"))
	}
	return must.Text("content.reasoning", o.Get("reasoning"))
}

// image returns a part as the chat completions API has it.
func image(o jsontext.Object) []byte {
	url := jsontext.Object{{Key: "url", Raw: importers.Quote(must.Text("content.image", o.Get("image")))}}
	if detail := must.Text("content.detail", o.Get("detail")); detail != "" && detail != "auto" {
		url = append(url, jsontext.Member{Key: "detail", Raw: o.Get("detail")})
	}
	return jsontext.Object{{Key: "type", Raw: []byte(`"image_url"`)}, {Key: "image_url", Raw: url.Bytes()}}.Bytes()
}

// readCalls reads tool calls: the function is a name, its arguments an object.
func readCalls(m *message, list []byte) {
	var extras jsontext.Object
	for raw := range jsontext.Elements(list) {
		o := must.Object("tool_calls", raw)
		t := formats.ToolCall{ID: must.ID("tool_calls.id", o.Get("id")),
			Name: must.Text("tool_calls.function", o.Get("function")), Arguments: jsontext.AnyText(o.Get("arguments"))}
		if t.Name == "" {
			must.Fail("a tool call has no function: %s", importers.Brief(raw))
		}
		m.ToolCalls = append(m.ToolCalls, t)
		var extra jsontext.Object
		for f := range value.Rest(o, "id", "function", "arguments") {
			if text := string(f.Raw); text != "null" && !(f.Key == "type" && text == `"function"`) {
				extra = append(extra, f)
			}
		}
		if len(extra) > 0 {
			extras.Set(t.ID, extra.Bytes())
		}
	}
	if len(extras) > 0 {
		m.Others = append(m.Others, jsontext.Member{Key: "tool_call_extras", Raw: extras.Bytes()})
	}
}
