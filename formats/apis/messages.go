package apis

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

var Messages = &API{Name: "messages", Route: "/messages", Path: "/chat/completions", OwnErrors: true,
	translator: messagesTranslator{}}

// messagesTranslator translates Anthropic's Messages API.
type messagesTranslator struct{ chatLogprobs }

// decode converts the prompt as vLLM's own /v1/messages does, so that it is the same.
func (messagesTranslator) decode(q *Request, _ *StoredResponses) error {
	var p messagesPrompt
	if err := p.prompt(q.Fields); err != nil {
		return err
	}
	q.Messages, q.ToolErrors = p.messages, p.toolErrors
	return q.convert(q.setFromMessages)
}

// messagesOnly are fields of the Messages API that chat completions do not have and that change no prompt of an engine.
var messagesOnly = []string{"system", "messages", "metadata", "cache_control", "service_tier", "container", "inference_geo",
	"speed", "diagnostics", "context_management", "thinking"}

// setFromMessages sets what a field of the Messages API is in chat completions.
// Fields of the same name, and those that only engines have, are unchanged.
func (q *Request) setFromMessages(key string, v []byte) error {
	o := jsontext.ParseObject(v)
	switch {
	case slices.Contains(messagesOnly, key):
	case key == "stop_sequences":
		q.Fields.Set("stop", v)
	case key == "tools":
		return q.setMessagesTools(v)
	case key == "tool_choice":
		q.setMessagesToolChoice(o)
	case key == "output_config":
		if effort := o.Get("effort"); effort != nil {
			q.Fields.Set("reasoning_effort", effort)
		}
		q.setResponseFormat(encode("output"), jsontext.ParseObject(o.Get("format")))
	case key == "output_format":
		q.setResponseFormat(encode("output"), o)
	case key == "mcp_servers" && len(v) > len("[]"):
		return errors.New("mcp_servers: only Anthropic's servers call MCP servers; the agent has to call them and offer " +
			"their tools itself")
	default:
		q.Fields.Set(key, v)
	}
	return nil
}

func (q *Request) setMessagesTools(v []byte) error {
	var list [][]byte
	for raw := range jsontext.Elements(v) {
		o := jsontext.ParseObject(raw)
		if !o.Has("input_schema") {
			return fmt.Errorf("tools.%d: %q has no input_schema: only Anthropic's servers know such tools", len(list),
				jsontext.Unquote(o.Get("type")))
		}
		list = append(list, functionTool(o, "input_schema"))
	}
	q.setChatTools(list)
	return nil
}

func (q *Request) setMessagesToolChoice(o jsontext.Object) {
	switch kind := jsontext.Unquote(o.Get("type")); kind {
	case "auto", "none":
		q.Fields.Set("tool_choice", encode(kind))
	case "any":
		q.Fields.Set("tool_choice", encode("required"))
	case "tool":
		q.forceTool(jsontext.Unquote(o.Get("name")))
	}
	if jsontext.IsTrue(o.Get("disable_parallel_tool_use")) {
		q.Fields.Set("parallel_tool_calls", []byte("false"))
	}
}

// messagesPrompt converts the prompt of the Messages API to messages of chat
// completions. A tool result is a message of its own there.
type messagesPrompt struct {
	chatPrompt
	toolErrors formats.ToolErrors
}

func (p *messagesPrompt) prompt(q jsontext.Object) error {
	if v := q.Get("system"); len(v) > 0 && string(v) != "null" {
		if err := p.message("system", "system", v); err != nil {
			return err
		}
	}
	list := q.Get("messages")
	if len(list) == 0 || list[0] != '[' {
		return errors.New(`the request has no list "messages"`)
	}
	for n, raw := range slices.Collect(jsontext.Elements(list)) {
		o := jsontext.ParseObject(raw)
		role := jsontext.Unquote(o.Get("role"))
		before := len(p.messages)
		if err := p.message(fmt.Sprintf("messages.%d", n), role, orEmpty(o.Get("content"))); err != nil {
			return err
		}
		if role == "system" && len(p.messages) > before {
			p.promoteSystem("")
		}
	}
	return nil
}

// message adds what one message of the API is in chat completions.
func (p *messagesPrompt) message(where, role string, content []byte) error {
	p.beginMessage(role)
	if content[0] != '[' {
		p.current.Content = jsontext.Unquote(content)
		p.messages = append(p.messages, p.current)
		return nil
	}
	before := len(p.messages)
	for n, raw := range slices.Collect(jsontext.Elements(content)) {
		if err := p.block(jsontext.ParseObject(raw)); err != nil {
			return fmt.Errorf("%s.content.%d: %w", where, n, err)
		}
	}
	p.endMessage(len(p.messages) == before && role != "system")
	return nil
}
