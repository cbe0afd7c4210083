package apis

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/tree"
)

// outputLogprobs is the value of "include" that requests logprobs.
const outputLogprobs = `"message.output_text.logprobs"`

// inputReader converts items to messages.
type inputReader struct {
	messages []formats.Message
	open     bool // the last message is an assistant turn that may continue
}

func (t *inputReader) assistant() *formats.Message {
	if !t.open {
		t.messages = append(t.messages, formats.Message{Role: "assistant", Parent: -1, Call: -1})
		t.open = true
	}
	return &t.messages[len(t.messages)-1]
}

// add adds a message that is no assistant turn.
func (t *inputReader) add(m formats.Message) {
	m.Parent, m.Call = -1, -1
	t.messages, t.open = append(t.messages, m), false
}

// item adds an item, and reports whether its type is known.
func (t *inputReader) item(o jsontext.Object) bool {
	switch jsontext.Unquote(o.Get("type")) {
	case "reasoning", "function_call", "custom_tool_call":
		readItem(t.assistant(), o)
	case "message", "":
		if jsontext.Unquote(o.Get("role")) == "assistant" {
			readItem(t.assistant(), o)
			break
		}
		var m formats.Message
		readItem(&m, o)
		t.add(m)
	case "function_call_output", "custom_tool_call_output":
		m := formats.Message{Role: "tool", ToolCallID: jsontext.Unquote(o.Get("call_id"))}
		chat.ReadContent(&m, orEmpty(o.Get("output")))
		t.add(m)
	default:
		return false
	}
	return true
}

// reference returns the id of an item that stands for one of an earlier answer.
func reference(o jsontext.Object) (id string, ok bool) {
	kind := jsontext.Unquote(o.Get("type"))
	id = jsontext.Unquote(o.Get("id"))
	return id, kind == "item_reference" || kind == "" && id != "" && !o.Has("role") && !o.Has("content")
}

// readItem adds one item of a response to m. The input of a custom tool becomes the argument of a function.
func readItem(m *formats.Message, o jsontext.Object) {
	switch kind := jsontext.Unquote(o.Get("type")); kind {
	case "reasoning":
		for _, key := range []string{"content", "summary"} {
			var text string
			for part := range jsontext.Elements(o.Get(key)) {
				text += jsontext.Unquote(jsontext.ParseObject(part).Get("text"))
			}
			if text != "" {
				m.Reasoning += text
				return
			}
		}
		m.Reasoning += unsealReasoning(jsontext.Unquote(o.Get("encrypted_content")))
	case "function_call", "custom_tool_call":
		arguments := jsontext.Unquote(o.Get("arguments"))
		if kind == "custom_tool_call" {
			arguments = string(customArguments(jsontext.Unquote(o.Get("input"))))
		}
		m.ToolCalls = append(m.ToolCalls,
			formats.ToolCall{ID: jsontext.Unquote(o.Get("call_id")), Name: fullName(o), Arguments: arguments})
	default:
		if role := jsontext.Unquote(o.Get("role")); role != "" {
			m.Role = role
		}
		var part formats.Message
		chat.ReadContent(&part, orEmpty(o.Get("content")))
		if tree.TextOnly(part.ContentParts) {
			part.ContentParts = ""
		}
		chat.AddContent(m, &part)
	}
}

// fullName returns the name of a function, after that of its namespace if it has one.
func fullName(o jsontext.Object) string {
	name := jsontext.Unquote(o.Get("name"))
	if space := jsontext.Unquote(o.Get("namespace")); space != "" {
		return space + "__" + name
	}
	return name
}
