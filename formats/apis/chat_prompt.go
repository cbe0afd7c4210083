package apis

import (
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// convert replaces the request's fields by those of chat completions. set gets
// each field of the agent's that is not null.
func (q *Request) convert(set func(key string, v []byte) error) error {
	q.Original, q.Fields, q.Tools = q.Fields, nil, ""
	q.Fields.Set("messages", nil) // set by setMessages
	for _, f := range q.Original {
		if string(f.Raw) == "null" {
			continue
		}
		if err := set(f.Key, f.Raw); err != nil {
			return err
		}
	}
	return nil
}

func (q *Request) SetMessages() {
	path := make([]int, len(q.Messages))
	for i := range path {
		path[i] = i
	}
	q.Fields.Set("messages", []byte(chat.JSON(&formats.Trajectory{Messages: q.Messages}, path)))
}

// functionTool returns a tool as chat completions describe it. schema is the name that its parameters have in o.
func functionTool(o jsontext.Object, schema string) []byte {
	var function jsontext.Object
	for _, f := range [][2]string{{"name", "name"}, {"description", "description"}, {schema, "parameters"},
		{"strict", "strict"}} {
		if o.Has(f[0]) {
			function.Set(f[1], o.Get(f[0]))
		}
	}
	return jsontext.Object{field("type", encode("function")), field("function", function.Bytes())}.Bytes()
}

func (q *Request) setChatTools(tools [][]byte) {
	if len(tools) > 0 {
		q.Tools = jsontext.Compact(array(tools))
		q.Fields.Set("tools", []byte(q.Tools))
	}
}

func (q *Request) forceTool(name string) {
	q.Fields.Set("tool_choice", encode(map[string]any{"type": "function", "function": map[string]string{"name": name}}))
}

// setResponseFormat restricts the answer to a format with a schema.
func (q *Request) setResponseFormat(name []byte, format jsontext.Object) {
	schema := format.Get("schema")
	if schema == nil {
		return
	}
	o := jsontext.Object{field("name", name), field("schema", schema)}
	for _, key := range []string{"strict", "description"} {
		if format.Has(key) {
			o.Set(key, format.Get(key))
		}
	}
	q.Fields.Set("response_format",
		jsontext.Object{field("type", encode("json_schema")), field("json_schema", o.Bytes())}.Bytes())
}

// chatPrompt builds the messages of a prompt of chat completions.
type chatPrompt struct {
	messages []formats.Message
	current  formats.Message // the message that parts are added to
	parts    [][]byte
}

// promoteSystem moves the last message, of the system, to the system prompt if nothing was answered yet: many chat
// templates refuse it elsewhere. A later one stays where it is, because the tokens before it must not change. between
// separates it from the text before.
func (p *chatPrompt) promoteSystem(between string) {
	last := len(p.messages) - 1
	m := p.messages[last]
	switch {
	case slices.ContainsFunc(p.messages, func(m formats.Message) bool { return m.Role == "assistant" }):
	case last > 0 && p.messages[0].Role == "system":
		p.messages[0].Content += between + m.Content
		p.messages = p.messages[:last]
	default:
		p.messages = slices.Insert(p.messages[:last], 0, m)
	}
}

func (p *chatPrompt) beginMessage(role string) {
	p.current, p.parts = formats.Message{Role: role, Parent: -1, Call: -1}, nil
}

// endMessage ends the current message; an empty one only counts if it must.
func (p *chatPrompt) endMessage(must bool) {
	m := p.current
	switch {
	case m.Role == "assistant", m.Role == "system", len(p.parts) == 1 && m.Content != "":
		m.Content = chat.JoinedText(array(p.parts)) // one text
	case len(p.parts) > 0:
		m.ContentParts, m.Content = jsontext.Compact(array(p.parts)), ""
	}
	if must || len(p.parts) > 0 || len(m.ToolCalls) > 0 || m.Reasoning != "" {
		p.messages = append(p.messages, m)
	}
	p.beginMessage(m.Role)
}

// addText adds a text, of which raw is the JSON.
func (p *chatPrompt) addText(text string, raw []byte) {
	p.current.Content = text
	p.parts = append(p.parts, jsontext.Object{field("type", []byte(`"text"`)), field("text", raw)}.Bytes())
}

// addToolResult adds a tool message. Its images follow as a user message: chat
// templates have no images in tool messages.
func (p *chatPrompt) addToolResult(id, text string, images [][]byte) {
	p.messages = append(p.messages, formats.Message{Role: "tool", ToolCallID: id, Content: text, Parent: -1, Call: -1})
	if images != nil {
		p.messages = append(p.messages,
			formats.Message{Role: "user", ContentParts: jsontext.Compact(array(images)), Parent: -1, Call: -1})
	}
}
