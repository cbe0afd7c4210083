package inspect

import (
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// message is one of Inspect's chat messages.
type message struct {
	formats.Message
	ID, Source, Model string
	Others            jsontext.Object // what no field above has
}

// generated reports whether a model made the message in this conversation.
func (m *message) generated() bool { return m.Role == "assistant" && m.Source == "generate" }

// messages reads a list of messages.
func messages(field string, list []byte) (out []message, err error) {
	var in value.Reader
	for raw := range jsontext.Elements(in.List(field, list)) {
		m, err := readMessage(raw)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", field, len(out), err)
		}
		out = append(out, m)
	}
	return out, in.Err
}

// readMessage reads a message.
func readMessage(raw []byte) (m message, err error) {
	var in value.Reader
	m.Parent, m.Call = -1, -1
	c := value.Content{Message: &m.Message}
	var calls []byte
	for _, f := range in.Object("a message", raw) {
		if string(f.Raw) == "null" {
			continue
		}
		switch f.Key {
		case "id":
			m.ID = in.Text("id", f.Raw)
		case "role":
			m.Role = in.Text("role", f.Raw)
		case "source":
			m.Source = in.Text("source", f.Raw)
		case "model":
			m.Model = in.Text("model", f.Raw)
		case "function":
			m.Name = in.Text("function", f.Raw)
		case "reasoning": // of logs before reasoning was a part of the content
			c.Think(in.Text("reasoning", f.Raw))
		case "content":
			readContent(&in, &c, f.Raw)
		case "tool_calls":
			calls = in.List("tool_calls", f.Raw)
		case "tool_call_id":
			if f.Raw[0] == '"' {
				m.ToolCallID = in.Text("tool_call_id", f.Raw)
			} else { // a user's message may be about several
				m.Others = append(m.Others, f)
			}
		default:
			m.Others = append(m.Others, f)
		}
	}
	c.Set()
	readCalls(&in, &m, calls)
	switch {
	case in.Err != nil:
		return m, in.Err
	case m.Role == "":
		return m, fmt.Errorf("a message has no role: %s", importers.Brief(raw))
	}
	if m.Source == "operator" {
		m.Others = append(m.Others, jsontext.Member{Key: "source", Raw: importers.Quote(m.Source)})
	}
	if len(c.Reasoning) > 0 {
		m.Others = append(m.Others, jsontext.Member{Key: "reasoning_parts", Raw: value.Join(c.Reasoning)})
	}
	return m, nil
}

// readContent reads a text, or parts.
func readContent(in *value.Reader, c *value.Content, v []byte) {
	for o, part := range c.Read(in, v) {
		switch in.Text("content.type", o.Get("type")) {
		case "text":
			in.Text("content.text", o.Get("text"))
			c.Parts = append(c.Parts, part)
		case "reasoning":
			c.Think(reasoning(in, o))
			if o.Has("signature") || o.Has("summary") || jsontext.IsTrue(o.Get("redacted")) {
				c.Reasoning = append(c.Reasoning, part)
			}
		case "image":
			c.Parts = append(c.Parts, image(in, o))
		default:
			c.Parts = append(c.Parts, part)
		}
	}
}

// reasoning returns a text to read: of a redacted one, only its summary is.
func reasoning(in *value.Reader, o jsontext.Object) string {
	if jsontext.IsTrue(o.Get("redacted")) {
		return in.Text("content.summary", o.Get("summary"))
	}
	return in.Text("content.reasoning", o.Get("reasoning"))
}

// image returns a part as the chat completions API has it.
func image(in *value.Reader, o jsontext.Object) []byte {
	url := jsontext.Object{{Key: "url", Raw: importers.Quote(in.Text("content.image", o.Get("image")))}}
	if detail := in.Text("content.detail", o.Get("detail")); detail != "" && detail != "auto" {
		url = append(url, jsontext.Member{Key: "detail", Raw: o.Get("detail")})
	}
	return jsontext.Object{{Key: "type", Raw: []byte(`"image_url"`)}, {Key: "image_url", Raw: url.Bytes()}}.Bytes()
}

// readCalls reads tool calls: the function is a name, its arguments an object.
func readCalls(in *value.Reader, m *message, list []byte) {
	var extras jsontext.Object
	for raw := range jsontext.Elements(list) {
		o := in.Object("tool_calls", raw)
		t := formats.ToolCall{ID: in.ID("tool_calls.id", o.Get("id")),
			Name: in.Text("tool_calls.function", o.Get("function")), Arguments: jsontext.AnyText(o.Get("arguments"))}
		if t.Name == "" {
			in.Fail("a tool call has no function: %s", importers.Brief(raw))
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
