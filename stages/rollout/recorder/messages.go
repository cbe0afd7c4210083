package recorder

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsonscan"
)

// parseMessages turns a request of Anthropic's Messages API into one of chat
// completions, because only those have logprobs and token ids. It converts as
// vLLM's own /v1/messages does, so the prompt is the same.
func parseMessages(q *request) error {
	var p blockReader
	if err := p.prompt(q.fields); err != nil {
		return err
	}
	asked := q.fields
	q.messages, q.fields, q.tools = p.messages, nil, ""
	q.fields.Set("messages", nil) // set by setMessages
	for _, f := range asked {
		if string(f.Raw) == "null" {
			continue
		}
		if err := q.setFromMessages(f.Key, f.Raw); err != nil {
			return err
		}
	}
	return nil
}

// setMessages writes the messages into the request.
func (q *request) setMessages() {
	path := make([]int, len(q.messages))
	for i := range path {
		path[i] = i
	}
	q.fields.Set("messages", []byte(chat.JSON(&formats.Trajectory{Messages: q.messages}, path)))
}

// notInChat are fields of the Messages API that chat completions do not have and
// that change no prompt of an engine.
var notInChat = []string{"system", "messages", "metadata", "cache_control", "service_tier", "container", "inference_geo", "speed", "diagnostics",
	"context_management", "thinking"}

// setFromMessages sets what a field of the Messages API is in chat completions.
// Fields of the same name, and those that only engines have, are unchanged.
func (q *request) setFromMessages(key string, v []byte) error {
	o := jsonscan.ParseObject(v)
	switch {
	case slices.Contains(notInChat, key):
	case key == "stop_sequences":
		q.fields.Set("stop", v)
	case key == "tools":
		return q.setTools(v)
	case key == "tool_choice":
		q.setToolChoice(o)
	case key == "output_config":
		if effort := o.Get("effort"); effort != nil {
			q.fields.Set("reasoning_effort", effort)
		}
		q.setFormat(jsonscan.ParseObject(o.Get("format")))
	case key == "output_format":
		q.setFormat(o)
	case key == "mcp_servers" && len(v) > len("[]"):
		return errors.New("mcp_servers: only Anthropic's servers call MCP servers; the agent has to call them and offer their tools itself")
	default:
		q.fields.Set(key, v)
	}
	return nil
}

var functionFields = [][2]string{{"name", "name"}, {"description", "description"}, {"input_schema", "parameters"}, {"strict", "strict"}}

func (q *request) setTools(v []byte) error {
	var list [][]byte
	for raw := range jsonscan.Elements(v) {
		o := jsonscan.ParseObject(raw)
		if !o.Has("input_schema") {
			return fmt.Errorf("tools.%d: %q has no input_schema: only Anthropic's servers know such tools", len(list), jsonscan.Unquote(o.Get("type")))
		}
		var function jsonscan.Object
		for _, f := range functionFields {
			if o.Has(f[0]) {
				function.Set(f[1], o.Get(f[0]))
			}
		}
		list = append(list, jsonscan.Object{field("type", encode("function")), field("function", function.Bytes())}.Bytes())
	}
	if len(list) > 0 {
		q.tools = jsonscan.Compact(array(list))
		q.fields.Set("tools", []byte(q.tools))
	}
	return nil
}

func (q *request) setToolChoice(o jsonscan.Object) {
	switch kind := jsonscan.Unquote(o.Get("type")); kind {
	case "auto", "none":
		q.fields.Set("tool_choice", encode(kind))
	case "any":
		q.fields.Set("tool_choice", encode("required"))
	case "tool":
		q.fields.Set("tool_choice", encode(map[string]any{"type": "function", "function": map[string]string{"name": jsonscan.Unquote(o.Get("name"))}}))
	}
	if jsonscan.IsTrue(o.Get("disable_parallel_tool_use")) {
		q.fields.Set("parallel_tool_calls", []byte("false"))
	}
}

func (q *request) setFormat(o jsonscan.Object) {
	if schema := o.Get("schema"); schema != nil {
		q.fields.Set("response_format", fmt.Appendf(nil, `{"type":"json_schema","json_schema":{"name":"output","schema":%s}}`, schema))
	}
}

// blockReader converts the prompt of the Messages API to messages of chat
// completions. A tool result is a message of its own there.
type blockReader struct {
	messages []formats.Message
	current  formats.Message // the message that blocks are added to
	parts    [][]byte
}

func (p *blockReader) prompt(q jsonscan.Object) error {
	if v := q.Get("system"); len(v) > 0 && string(v) != "null" {
		if err := p.message("system", "system", v); err != nil {
			return err
		}
	}
	list := q.Get("messages")
	if len(list) == 0 || list[0] != '[' {
		return errors.New(`the request has no list "messages"`)
	}
	n := 0
	for raw := range jsonscan.Elements(list) {
		o := jsonscan.ParseObject(raw)
		role := jsonscan.Unquote(o.Get("role"))
		before := len(p.messages)
		if err := p.message(fmt.Sprintf("messages.%d", n), role, orEmpty(o.Get("content"))); err != nil {
			return err
		}
		if role == "system" && len(p.messages) > before {
			p.lead()
		}
		n++
	}
	return nil
}

// lead moves the last message, of the system, to the system prompt if nothing was
// answered yet: many chat templates refuse it elsewhere. A later one stays where
// it is, because the tokens before it must not change.
func (p *blockReader) lead() {
	last := len(p.messages) - 1
	m := p.messages[last]
	switch {
	case slices.ContainsFunc(p.messages, func(m formats.Message) bool { return m.Role == "assistant" }):
	case last > 0 && p.messages[0].Role == "system":
		p.messages[0].Content += m.Content
		p.messages = p.messages[:last]
	default:
		p.messages = slices.Insert(p.messages[:last], 0, m)
	}
}

// message adds what one message of the API is in chat completions.
func (p *blockReader) message(where, role string, content []byte) error {
	p.begin(role)
	if content[0] != '[' {
		p.current.Content = jsonscan.Unquote(content)
		p.messages = append(p.messages, p.current)
		return nil
	}
	before, n := len(p.messages), 0
	for raw := range jsonscan.Elements(content) {
		if err := p.block(jsonscan.ParseObject(raw)); err != nil {
			return fmt.Errorf("%s.content.%d: %w", where, n, err)
		}
		n++
	}
	p.flush(len(p.messages) == before && role != "system")
	return nil
}

func (p *blockReader) begin(role string) {
	p.current, p.parts = formats.Message{Role: role, Parent: -1, Call: -1}, nil
}

// flush ends the current message; an empty one only counts if it must.
func (p *blockReader) flush(must bool) {
	m := p.current
	switch {
	case m.Role == "assistant", m.Role == "system", len(p.parts) == 1 && m.Content != "":
		m.Content = chat.JoinedText(array(p.parts)) // one text
	case len(p.parts) > 0:
		m.ContentParts, m.Content = jsonscan.Compact(array(p.parts)), ""
	}
	if must || len(p.parts) > 0 || len(m.ToolCalls) > 0 || m.Reasoning != "" {
		p.messages = append(p.messages, m)
	}
	p.begin(m.Role)
}

// billing begins a block that Claude Code adds to its system prompt. It changes
// with each request and is not for the model; no engine could use a prompt's
// prefix again after it.
const billing = "x-anthropic-billing-header"

func (p *blockReader) block(o jsonscan.Object) error {
	switch kind := jsonscan.Unquote(o.Get("type")); kind {
	case "text":
		if text := jsonscan.Unquote(o.Get("text")); text != "" && !(p.current.Role == "system" && strings.HasPrefix(text, billing)) {
			p.text(text, o.Get("text"))
		}
	case "image":
		url, err := imageURL(o)
		if err != nil {
			return err
		}
		p.parts = append(p.parts, imagePart(url))
	case "document":
		source := jsonscan.ParseObject(o.Get("source"))
		if jsonscan.Unquote(source.Get("type")) != "text" {
			return errors.New("a document that is not plain text cannot be given to a chat completions engine")
		}
		p.text(jsonscan.Unquote(source.Get("data")), orEmpty(source.Get("data")))
	case "thinking":
		p.current.Reasoning += jsonscan.Unquote(o.Get("thinking"))
	case "redacted_thinking": // encrypted for Anthropic's servers
	case "tool_use":
		input := "{}"
		if o.Has("input") {
			input = jsonscan.Compact(o.Get("input"))
		}
		p.current.ToolCalls = append(p.current.ToolCalls, formats.ToolCall{ID: jsonscan.Unquote(o.Get("id")), Name: jsonscan.Unquote(o.Get("name")), Arguments: input})
	case "tool_result":
		return p.toolResult(o)
	default:
		return fmt.Errorf("a block of type %q cannot be given to a chat completions engine", kind)
	}
	return nil
}

// text adds a text, of which raw is the JSON.
func (p *blockReader) text(text string, raw []byte) {
	p.current.Content = text
	p.parts = append(p.parts, jsonscan.Object{field("type", []byte(`"text"`)), field("text", raw)}.Bytes())
}

func imagePart(url string) []byte {
	return encode(map[string]any{"type": "image_url", "image_url": map[string]string{"url": url}})
}

func imageURL(o jsonscan.Object) (string, error) {
	source := jsonscan.ParseObject(o.Get("source"))
	switch kind := jsonscan.Unquote(source.Get("type")); kind {
	case "base64":
		return "data:" + jsonscan.Unquote(source.Get("media_type")) + ";base64," + jsonscan.Unquote(source.Get("data")), nil
	case "url":
		return jsonscan.Unquote(source.Get("url")), nil
	default:
		return "", fmt.Errorf("an image from %q cannot be given to a chat completions engine", kind)
	}
}

// toolResult adds a tool message. Its images follow as a user message: chat
// templates have no images in tool messages.
func (p *blockReader) toolResult(o jsonscan.Object) error {
	p.flush(false)
	result := formats.Message{Role: "tool", ToolCallID: jsonscan.Unquote(o.Get("tool_use_id")), Parent: -1, Call: -1}
	content := orEmpty(o.Get("content"))
	result.Content = jsonscan.Unquote(content)
	var texts []string
	var images [][]byte
	for raw := range jsonscan.Elements(content) {
		part := jsonscan.ParseObject(raw)
		switch kind := jsonscan.Unquote(part.Get("type")); kind {
		case "text":
			texts = append(texts, jsonscan.Unquote(part.Get("text")))
		case "image":
			url, err := imageURL(part)
			if err != nil {
				return err
			}
			images = append(images, imagePart(url))
		default:
			return fmt.Errorf("a tool result with a block of type %q cannot be given to a chat completions engine", kind)
		}
	}
	if texts != nil {
		result.Content = strings.Join(texts, "\n")
	}
	p.messages = append(p.messages, result)
	if images != nil {
		p.messages = append(p.messages, formats.Message{Role: "user", ContentParts: jsonscan.Compact(array(images)), Parent: -1, Call: -1})
	}
	return nil
}
