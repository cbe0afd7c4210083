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

// Why a prompt does not begin with its ancestor's tokens (column messages.prefix_break),
// because of what the agent changed. Package chat has the causes that no message shows.
const (
	BreakReasoning = chat.BreakReasoning
	BreakArguments = "arguments" // tool arguments were rewritten; not in new rows: the recorder restores their text
	BreakContent   = "content"   // the agent changed its own earlier message
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

// returned reports whether m is the sampled message s as clients send it back, and
// which Break constant names what they changed.
func returned(s, m *formats.Message) (changed string, ok bool) {
	if s.Role != m.Role || !sameParts(s, m) || len(s.ToolCalls) != len(m.ToolCalls) {
		return "", false
	}
	if m.Reasoning != s.Reasoning {
		if m.Reasoning != "" {
			return "", false
		}
		changed = worse(changed, BreakReasoning)
	}
	if sent, back := text(s), text(m); sent != back {
		switch was, is := strings.TrimSpace(sent), strings.TrimSpace(back); {
		case was == is, is == "" && len(s.ToolCalls) > 0:
			changed = worse(changed, BreakContent)
		case strings.TrimSpace(chat.Thinking.ReplaceAllString(sent, "")) == is:
			changed = worse(changed, BreakReasoning)
		default:
			return "", false
		}
	}
	for i, a := range s.ToolCalls {
		b := m.ToolCalls[i]
		if a == b {
			continue
		}
		if !SameCall(a, b) {
			return "", false
		}
		changed = worse(changed, BreakArguments)
	}
	return changed, true
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

// worse returns the cause that explains more of a break: reasoning only where it
// is the only one.
func worse(a, b string) string {
	for _, cause := range []string{BreakArguments, BreakContent, BreakReasoning} {
		if a == cause || b == cause {
			return cause
		}
	}
	return ""
}
