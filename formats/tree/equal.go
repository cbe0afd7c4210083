package tree

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"

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
	return a.ID == b.ID && a.Name == b.Name && (a.Arguments == b.Arguments || SameJSON(a.Arguments, b.Arguments))
}

// SameJSON reports whether two texts are equal as JSON.
func SameJSON(a, b string) bool {
	x, ok := canonical(a)
	y, ok2 := canonical(b)
	return ok && ok2 && bytes.Equal(x, y)
}

// canonical returns JSON with its keys in order and its numbers in one form.
func canonical(text string) (out []byte, ok bool) {
	if !json.Valid([]byte(text)) {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil, false
	}
	out, err := json.Marshal(withNumbers(v))
	return out, err == nil
}

// withNumbers returns a decoded value with floats for its numbers, except whole
// numbers that a float cannot represent.
func withNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = withNumbers(v[key])
		}
	case []any:
		for i := range v {
			v[i] = withNumbers(v[i])
		}
	case json.Number:
		const exact = 1 << 53
		if f, err := v.Float64(); err == nil && (math.Abs(f) < exact || strings.ContainsAny(string(v), ".eE")) {
			return f
		}
	}
	return v
}
