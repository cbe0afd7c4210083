package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Refusal returns the content parts of a message that refuses.
func Refusal(text string) string {
	part, _ := json.Marshal([]map[string]string{{"type": "refusal", "refusal": text}})
	return string(part)
}

// ReadContent reads a text, or an array of parts, whose texts are joined. A
// refusal that m has already comes after it.
func ReadContent(m *formats.Message, v []byte) {
	refusal := formats.Message{ContentParts: m.ContentParts}
	if m.ContentParts = ""; v[0] == '[' {
		m.Content, m.ContentParts = JoinedText(v), jsontext.Compact(v)
	} else {
		m.Content = jsontext.Unquote(v)
	}
	if refusal.ContentParts != "" {
		AddContent(m, &refusal)
	}
}

// AddContent adds content after that of m. What is text alone stays text.
func AddContent(m, more *formats.Message) {
	if more.ContentParts != "" || m.ContentParts != "" && more.Content != "" {
		list := slices.AppendSeq(slices.Collect(jsontext.Elements(partsOf(m))), jsontext.Elements(partsOf(more)))
		m.ContentParts = "[" + string(bytes.Join(list, []byte(","))) + "]"
	}
	m.Content += more.Content
}

func partsOf(m *formats.Message) []byte {
	switch {
	case m.ContentParts != "":
		return []byte(m.ContentParts)
	case m.Content == "":
		return nil
	}
	part, _ := json.Marshal(map[string]string{"type": "text", "text": m.Content})
	return fmt.Appendf(nil, "[%s]", part)
}

// ContentText returns a message's content, or the text of its parts: a message
// of a dataset has one or the other.
func ContentText(m *formats.Message) string {
	if m.ContentParts == "" {
		return m.Content
	}
	return JoinedText([]byte(m.ContentParts))
}

// Answer returns the text of the last sampled message on a trajectory's main path.
func Answer(t *formats.Trajectory) string {
	path := t.Main()
	for _, i := range slices.Backward(path) {
		if m := &t.Messages[i]; m.Sampled {
			return ContentText(m)
		}
	}
	return ""
}

// JoinedText returns the text of parts.
func JoinedText(parts []byte) string {
	var text strings.Builder
	for part := range jsontext.Elements(parts) {
		text.WriteString(jsontext.Unquote(jsontext.ParseObject(part).Get("text")))
	}
	return text.String()
}
