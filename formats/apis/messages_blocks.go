package apis

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// billing begins a block that Claude Code adds to its system prompt. It changes with each request and is not for the
// model; no engine could use a prompt's prefix again after it.
const billing = "x-anthropic-billing-header"

func (p *messagesPrompt) block(o jsontext.Object) error {
	switch kind := jsontext.Unquote(o.Get("type")); kind {
	case "text":
		if text := jsontext.Unquote(o.Get("text")); text != "" &&
			!(p.current.Role == "system" && strings.HasPrefix(text, billing)) {
			p.addText(text, o.Get("text"))
		}
	case "image":
		part, err := imagePart(o)
		if err != nil {
			return err
		}
		p.parts = append(p.parts, part)
	case "document":
		source := jsontext.ParseObject(o.Get("source"))
		if jsontext.Unquote(source.Get("type")) != "text" {
			return errors.New("a document that is not plain text cannot be given to a chat completions engine")
		}
		p.addText(jsontext.Unquote(source.Get("data")), orEmpty(source.Get("data")))
	case "thinking":
		p.current.Reasoning += jsontext.Unquote(o.Get("thinking"))
	case "redacted_thinking": // encrypted for Anthropic's servers
	case "tool_use":
		input := "{}"
		if o.Has("input") {
			input = jsontext.Compact(o.Get("input"))
		}
		p.current.ToolCalls = append(p.current.ToolCalls,
			formats.ToolCall{ID: jsontext.Unquote(o.Get("id")), Name: jsontext.Unquote(o.Get("name")), Arguments: input})
	case "tool_result":
		return p.toolResult(o)
	default:
		return fmt.Errorf("a block of type %q cannot be given to a chat completions engine", kind)
	}
	return nil
}

func imagePart(o jsontext.Object) ([]byte, error) {
	source := jsontext.ParseObject(o.Get("source"))
	url := jsontext.Unquote(source.Get("url"))
	switch kind := jsontext.Unquote(source.Get("type")); kind {
	case "base64":
		url = "data:" + jsontext.Unquote(source.Get("media_type")) + ";base64," + jsontext.Unquote(source.Get("data"))
	case "url":
	default:
		return nil, fmt.Errorf("an image from %q cannot be given to a chat completions engine", kind)
	}
	return encode(map[string]any{"type": "image_url", "image_url": map[string]string{"url": url}}), nil
}

func (p *messagesPrompt) toolResult(o jsontext.Object) error {
	p.endMessage(false)
	content := orEmpty(o.Get("content"))
	id := jsontext.Unquote(o.Get("tool_use_id"))
	p.toolErrors.Add(formats.ToolErrors{id: new(jsontext.IsTrue(o.Get("is_error")))})
	if content[0] != '[' {
		p.addToolResult(id, jsontext.Unquote(content), nil)
		return nil
	}
	var texts []string
	var images [][]byte
	for raw := range jsontext.Elements(content) {
		part := jsontext.ParseObject(raw)
		switch kind := jsontext.Unquote(part.Get("type")); kind {
		case "text":
			texts = append(texts, jsontext.Unquote(part.Get("text")))
		case "image":
			image, err := imagePart(part)
			if err != nil {
				return err
			}
			images = append(images, image)
		default:
			return fmt.Errorf("a tool result with a block of type %q cannot be given to a chat completions engine", kind)
		}
	}
	p.addToolResult(id, strings.Join(texts, "\n"), images)
	return nil
}
