package value

import (
	"bytes"
	"iter"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Content collects the parts of a message.
type Content struct {
	Message   *formats.Message
	Parts     [][]byte // all but reasoning and tool calls
	Reasoning [][]byte // what a part of reasoning has beside its text, such as a signature
}

// Text adds a text, a JSON string.
func (c *Content) Text(v []byte) {
	c.Parts = append(c.Parts, jsontext.Object{{Key: "type", Raw: []byte(`"text"`)}, {Key: "text", Raw: v}}.Bytes())
}

// Read yields the parts of a content, a list of objects. It adds a content that is a text.
func (c *Content) Read(v []byte) iter.Seq2[jsontext.Object, []byte] {
	return func(yield func(o jsontext.Object, part []byte) bool) {
		if len(v) > 0 && v[0] == '"' {
			c.Text(v)
			return
		}
		for part := range jsontext.Elements(must.List("content", v)) {
			if !yield(must.Object("content", part), part) {
				return
			}
		}
	}
}

// Blocks adds the blocks of a message of the Messages API, or of Pi, whose calls have other names. result, if not nil,
// is called for each result of a tool.
func (c *Content) Blocks(v []byte, result func(o jsontext.Object)) {
	for o, block := range c.Read(v) {
		switch kind := must.Text("content.type", o.Get("type")); {
		case kind == "thinking" || kind == "redacted_thinking":
			c.Think(must.Text("thinking", o.Get("thinking")))
			if o.Drop("thinking"); len(o) > 1 {
				c.Reasoning = append(c.Reasoning, o.Bytes())
			}
		case kind == "tool_use" || kind == "toolCall":
			c.Message.ToolCalls = append(c.Message.ToolCalls, formats.ToolCall{ID: must.ID(kind+".id", o.Get("id")),
				Name: must.Text(kind+".name", o.Get("name")), Arguments: jsontext.AnyText(o.First("input", "arguments"))})
		case kind == "tool_result" && result != nil:
			result(o)
		default:
			c.Parts = append(c.Parts, block)
		}
	}
}

// Think adds a paragraph of reasoning.
func (c *Content) Think(text string) {
	if text != "" && c.Message.Reasoning != "" {
		text = "\n\n" + text
	}
	c.Message.Reasoning += text
}

// Set writes the parts: as text when they are one, else also as they are.
func (c *Content) Set() {
	plain := true
	var text []byte
	for _, p := range c.Parts {
		o := jsontext.ParseObject(p)
		text = append(text, jsontext.Unquote(o.Get("text"))...)
		plain = plain && o.Has("text")
		for f := range Rest(o, "text", "type") {
			plain = plain && (string(f.Raw) == "null" || string(f.Raw) == "[]")
		}
	}
	c.Message.Content, c.Message.ContentParts = string(text), ""
	if len(c.Parts) > 1 || !plain {
		c.Message.ContentParts = jsontext.Compact(Join(c.Parts))
	}
}

// Join returns values as an array.
func Join(values [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(values, []byte{','})...), ']')
}

// TextParts returns a list of parts in which the text of each part of text is its
// member text: LLaMA-Factory writes value.
func TextParts(list []byte) []byte {
	if !bytes.Contains(list, []byte(`"value"`)) {
		return list
	}
	var out [][]byte
	for part := range jsontext.Elements(list) {
		o := jsontext.ParseObject(part)
		if v := o.Get("value"); string(o.Get("type")) == `"text"` && !o.Has("text") && len(v) > 0 && v[0] == '"' {
			o.Drop("text", "value")
			part = append(o, jsontext.Member{Key: "text", Raw: v}).Bytes()
		}
		out = append(out, part)
	}
	return Join(out)
}
