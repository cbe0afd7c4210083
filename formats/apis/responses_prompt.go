package apis

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// responsesPrompt converts messages of the Responses API, whose parts have other types, to those of chat completions.
type responsesPrompt struct{ chatPrompt }

func (p *responsesPrompt) add(m formats.Message) error {
	if m.Role == "developer" {
		m.Role = "system" // many chat templates know no developer
	}
	if m.Role == "system" {
		m.ContentParts = ""
		p.messages = append(p.messages, m)
		p.promoteSystem("\n\n")
		return nil
	}
	if m.ContentParts == "" {
		p.messages = append(p.messages, m)
		return nil
	}
	if m.Role == "assistant" {
		refusal := completion.RefusalOf(&m)
		if m.ContentParts = ""; refusal != "" {
			chat.AddContent(&m, &formats.Message{ContentParts: chat.Refusal(refusal)})
		}
		p.messages = append(p.messages, m)
		return nil
	}
	p.beginMessage(m.Role)
	var texts []string
	var images [][]byte // and other parts that are no text
	for raw := range jsontext.Elements([]byte(m.ContentParts)) {
		o := jsontext.ParseObject(raw)
		switch kind := jsontext.Unquote(o.Get("type")); kind {
		case "input_text", "output_text", "text":
			texts = append(texts, jsontext.Unquote(o.Get("text")))
			p.addText(texts[len(texts)-1], orEmpty(o.Get("text")))
		case "input_image":
			part, err := inputImage(o)
			if err != nil {
				return err
			}
			images, p.parts = append(images, part), append(p.parts, part)
		case "input_audio", "image_url":
			images, p.parts = append(images, raw), append(p.parts, raw)
		default:
			return fmt.Errorf("a part of type %q cannot be given to a chat completions engine", kind)
		}
	}
	if m.Role == "tool" {
		p.addToolResult(m.ToolCallID, strings.Join(texts, "\n"), images)
	} else {
		p.endMessage(true)
	}
	return nil
}

func inputImage(o jsontext.Object) ([]byte, error) {
	url := o.Get("image_url")
	if len(url) <= len(`""`) || url[0] != '"' {
		return nil, fmt.Errorf("an image without an image_url cannot be given to a chat completions engine")
	}
	image := jsontext.Object{field("url", url)}
	if o.Has("detail") {
		image.Set("detail", o.Get("detail"))
	}
	return jsontext.Object{field("type", encode("image_url")), field("image_url", image.Bytes())}.Bytes(), nil
}

// sealPrefix begins reasoning in "encrypted" content. It is readable; clients that keep no reasoning text send it back.
const sealPrefix = "rollmill:"

func unsealReasoning(text string) string {
	code, ok := strings.CutPrefix(text, sealPrefix)
	out, err := base64.StdEncoding.DecodeString(code)
	if !ok || err != nil {
		return ""
	}
	return string(out)
}

// customArguments are the arguments of the function that stands for a tool whose input is a text.
func customArguments(input string) []byte {
	return jsontext.Object{field("input", jsontext.AppendString(nil, input))}.Bytes()
}

// customInput returns the text in such arguments, or all of them if the model wrote something else.
func customInput(arguments string) string {
	o := jsontext.ParseObject([]byte(arguments))
	if v := o.Get("input"); jsontext.Valid([]byte(arguments)) && len(o) == 1 && len(v) > 0 && v[0] == '"' {
		return jsontext.Unquote(v)
	}
	return arguments
}
