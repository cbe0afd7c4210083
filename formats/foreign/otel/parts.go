package otel

import (
	"strings"

	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/exporters/fit"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// message is a message by the conventions: gen-ai-input-messages.json and
// gen-ai-output-messages.json.
type message struct {
	Role         string `json:"role"`
	Parts        []any  `json:"parts"`
	Name         string `json:"name,omitempty"`
	FinishReason string `json:"finish_reason,omitempty"`
}

type textPart struct {
	Type    string `json:"type"` // "text" or "reasoning"
	Content string `json:"content"`
}

type callPart struct {
	Type      string `json:"type"`
	ID        string `json:"id,omitempty"`
	Name      string `json:"name"`
	Arguments any    `json:"arguments"`
}

type resultPart struct {
	Type     string `json:"type"`
	ID       string `json:"id,omitempty"`
	Response string `json:"response"`
}

type filePart struct {
	Type     string `json:"type"` // "blob" or "uri"
	MimeType string `json:"mime_type,omitempty"`
	Modality string `json:"modality"`
	Content  string `json:"content,omitempty"` // base64
	URI      string `json:"uri,omitempty"`
}

// messagesOf returns messages as JSON text, the form of an attribute that every reader knows.
func (b *builder) messagesOf(indexes []int) string {
	list := make([]message, 0, len(indexes))
	for _, i := range indexes {
		list = append(list, b.messageOf(i))
	}
	out, err := jsontext.Append(nil, list)
	if err != nil {
		panic("otel: not JSON: " + err.Error()) // only strings, and JSON that was checked
	}
	return string(out)
}

func (b *builder) messageOf(i int) message {
	m := &b.t.Messages[i]
	b.written[i] = true
	out := message{Role: m.Role, Parts: []any{}, Name: m.Name}
	if m.Role == "tool" {
		out.Parts = append(out.Parts, resultPart{"tool_call_response", m.ToolCallID, b.result(i)})
		return out
	}
	if m.Reasoning != "" {
		out.Parts = append(out.Parts, textPart{"reasoning", m.Reasoning})
	}
	for _, p := range fit.Parts(m, b.lost) {
		switch {
		case p.URL != "":
			out.Parts = append(out.Parts, image(p))
		case p.Text != "":
			out.Parts = append(out.Parts, textPart{"text", p.Text})
		}
	}
	for _, c := range m.ToolCalls {
		out.Parts = append(out.Parts, callPart{"tool_call", c.ID, c.Name, arguments(c.Arguments)})
	}
	if m.Sampled {
		out.FinishReason = strings.Replace(m.FinishReason, "tool_calls", "tool_call", 1)
	}
	return out
}

// result returns the text of a tool's answer.
func (b *builder) result(i int) string {
	b.written[i] = true
	said, lost := chat.Text(&b.t.Messages[i])
	for _, kind := range lost {
		b.lost("content parts of tools of type " + kind)
	}
	return said
}

// arguments returns an object as it is and other text as a string.
func arguments(text string) any {
	if o := chat.Object(text); o != nil {
		return o
	}
	return text
}

// image returns the bytes of a data URL, or the address.
func image(p chat.Part) filePart {
	out := filePart{Type: "uri", MimeType: p.MediaType(), Modality: "image", URI: p.URL}
	if _, data, ok := strings.Cut(p.URL, ";base64,"); ok && strings.HasPrefix(p.URL, "data:") {
		out.Type, out.Content, out.URI = "blob", data, ""
	}
	return out
}
