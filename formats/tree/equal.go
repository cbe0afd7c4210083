package tree

import (
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
)

func isEqual(a, b *formats.Message) bool {
	return a.Role == b.Role && a.Reasoning == b.Reasoning && a.ToolCallID == b.ToolCallID &&
		(a.Name == b.Name || a.Sampled) &&
		slices.Equal(a.ToolCalls, b.ToolCalls) && sameContent(a, b)
}

func sameContent(a, b *formats.Message) bool {
	if a.ContentParts == b.ContentParts {
		return a.ContentParts != "" || a.Content == b.Content
	}
	return sameParts(a, b) && text(a) == text(b)
}

func text(m *formats.Message) string { return chat.ContentText(m) }

// sameParts reports whether a list of text parts equals the text itself.
func sameParts(a, b *formats.Message) bool {
	return a.ContentParts == b.ContentParts || TextOnly(a.ContentParts) && TextOnly(b.ContentParts)
}

// TextOnly reports whether a list of content parts, as JSON, is only text.
func TextOnly(parts string) bool {
	for part := range jsontext.Elements([]byte(parts)) {
		o := jsontext.ParseObject(part)
		switch jsontext.Unquote(o.Get("type")) {
		case "text":
			if len(o) != 2 {
				return false
			}
		case "input_text", "output_text", "summary_text", "reasoning_text":
		default:
			return false
		}
	}
	return true
}

// SameCall reports whether two tool calls are the same but for how the JSON of
// their arguments is written.
func SameCall(a, b formats.ToolCall) bool {
	return a.ID == b.ID && a.Name == b.Name && (a.Arguments == b.Arguments || jsontext.Same(a.Arguments, b.Arguments))
}
