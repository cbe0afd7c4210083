package nat

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/rollmill/rollmill/formats"
)

// The forms of prompts and answers depend on the framework of the workflow; the
// form itself shows which it is, so that a step without a framework's name can
// be read as well.

// wire is a message of LangChain, of LlamaIndex or of a chat completion: the fields of all of them.
type wire struct {
	Type       string // LangChain: human, ai, system, tool, function
	ID         string
	Role       string
	Content    json.RawMessage
	Blocks     []struct{ Text string } // LlamaIndex
	Name       string
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []wireCall      `json:"tool_calls"`
	Reasoning  string          `json:"reasoning_content"`
	Additional json.RawMessage `json:"additional_kwargs"`
	Response   struct {
		FinishReason string          `json:"finish_reason"`
		ModelName    string          `json:"model_name"`
		Logprobs     json.RawMessage `json:"logprobs"`
	} `json:"response_metadata"`
}

type wireCall struct {
	ID       string
	Name     string          // LangChain
	Args     json.RawMessage // LangChain: an object
	Function struct {
		Name      string
		Arguments string
	}
}

var stepRoles = map[string]string{"human": "user", "ai": "assistant", "AIMessageChunk": "assistant",
	"model": "assistant", "function": "tool"}

func (w *wire) message() formats.Message {
	role := cmp.Or(w.Role, w.Type, "user")
	m := formats.Message{Parent: -1, Call: -1, Role: cmp.Or(stepRoles[role], role), Name: w.Name,
		ToolCallID: w.ToolCallID, Reasoning: w.Reasoning}
	m.Content, m.ContentParts = stepText(w.Content)
	if m.ContentParts == "" {
		for _, b := range w.Blocks {
			m.Content += b.Text
		}
	}
	more := w.ToolCalls
	var additional struct {
		ToolCalls  []wireCall `json:"tool_calls"`
		ToolCallID string     `json:"tool_call_id"`
		Reasoning  string     `json:"reasoning_content"`
	}
	if json.Unmarshal(w.Additional, &additional) == nil {
		if len(more) == 0 {
			more = additional.ToolCalls
		}
		m.ToolCallID = cmp.Or(m.ToolCallID, additional.ToolCallID)
		m.Reasoning = cmp.Or(m.Reasoning, additional.Reasoning)
	}
	for _, c := range more {
		m.ToolCalls = append(m.ToolCalls, c.call())
	}
	return m
}

func (c *wireCall) call() formats.ToolCall {
	if c.Function.Name != "" {
		return formats.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments}
	}
	arguments := string(c.Args)
	if arguments == "" || arguments == "null" {
		arguments = "{}"
	}
	return formats.ToolCall{ID: c.ID, Name: c.Name, Arguments: arguments}
}

// stepText returns a message's content: a text, or the parts if they are not only text.
func stepText(raw json.RawMessage) (content, parts string) {
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &content) == nil {
		return content, ""
	}
	var list []struct {
		Type string
		Text *string
	}
	if json.Unmarshal(raw, &list) != nil {
		return string(raw), ""
	}
	for _, p := range list {
		if p.Text == nil || p.Type != "" && p.Type != "text" {
			return "", string(raw)
		}
		content += *p.Text
	}
	return content, ""
}

// Prompt returns the prompt of a call: a list of messages, or one text, which
// LlamaIndex makes from a list by writing each role and a colon.
func (c *Call) Prompt() (messages []formats.Message, ids []string) {
	if c.Start == nil {
		return nil, nil
	}
	for _, raw := range []json.RawMessage{c.Start.Data.Input, c.Start.Data.Payload} {
		var list []wire
		if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
			messages, ids = make([]formats.Message, len(list)), make([]string, len(list))
			for i := range list {
				messages[i], ids[i] = list[i].message(), list[i].ID
			}
			return messages, ids
		}
	}
	var joined string
	if json.Unmarshal(c.Start.Data.Input, &joined) != nil || joined == "" {
		return nil, nil
	}
	messages = splitRoles(joined)
	return messages, make([]string, len(messages))
}

var roleStart = regexp.MustCompile(`(?m)^(system|user|assistant|tool|developer|chatbot|model): `)

// splitRoles splits a joined prompt at the lines that begin with a role; a text
// that does not begin with one is a user's.
func splitRoles(joined string) []formats.Message {
	at := roleStart.FindAllStringSubmatchIndex(joined, -1)
	if len(at) == 0 || at[0][0] != 0 {
		return []formats.Message{{Parent: -1, Call: -1, Role: "user", Content: joined}}
	}
	var out []formats.Message
	for i, m := range at {
		end := len(joined)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		role := joined[m[2]:m[3]]
		out = append(out, formats.Message{Parent: -1, Call: -1, Role: cmp.Or(stepRoles[role], role),
			Content: strings.TrimSuffix(joined[m[1]:end], "\n")})
	}
	return out
}

// Answered returns the answer of a call: the message with the framework's id of
// it, and the logprobs as the engine gave them.
func (c *Call) Answered() (m formats.Message, id, model string, logprobs json.RawMessage) {
	var p struct {
		Message      *wire
		Text         string
		FinishReason string          `json:"finish_reason"`
		Logprobs     json.RawMessage // a choice's, of ADK
		Raw          struct {        // LlamaIndex
			Model   string
			Choices []struct {
				FinishReason string `json:"finish_reason"`
				Logprobs     json.RawMessage
				Message      *wire
			}
		}
	}
	_ = json.Unmarshal(c.End.Data.Payload, &p)
	m = formats.Message{Role: "assistant", Content: p.Text}
	if p.Message != nil {
		m, id = p.Message.message(), p.Message.ID
		m.FinishReason, model, logprobs = p.Message.Response.FinishReason, p.Message.Response.ModelName,
			p.Message.Response.Logprobs
	} else if p.Text == "" {
		m.Content, _ = stepText(c.End.Data.Output)
	}
	m.FinishReason = cmp.Or(m.FinishReason, p.FinishReason)
	if empty(logprobs) {
		logprobs = p.Logprobs
	}
	if n := len(p.Raw.Choices); n > 0 {
		first := &p.Raw.Choices[0]
		model = p.Raw.Model
		m.FinishReason = cmp.Or(m.FinishReason, first.FinishReason)
		if empty(logprobs) {
			logprobs = first.Logprobs
		}
		if len(m.ToolCalls) == 0 && first.Message != nil {
			m.ToolCalls = first.Message.message().ToolCalls
		}
	}
	m.Role, m.Sampled = "assistant", true
	return m, id, cmp.Or(model, c.End.Name), logprobs
}

// Result returns what a tool returned: a message of the tool if it names the call,
// else one of the user, as agents without tool calls show it to the model.
func (s *Step) Result() formats.Message {
	m := formats.Message{Parent: -1, Call: -1}
	var w wire
	if json.Unmarshal(s.Data.Output, &w) == nil && w.ToolCallID != "" {
		m = w.message()
		m.Role = "tool"
		return m
	}
	m.Role = "user"
	m.Content, m.ContentParts = stepText(s.Data.Output)
	return m
}

// Tools returns the definitions of the tools that a call offered, a JSON array; "" for none.
func (c *Call) Tools() string {
	if c.Start == nil || empty(c.Start.Tools) || string(c.Start.Tools) == "[]" {
		return ""
	}
	return strings.ReplaceAll(string(c.Start.Tools), `"type_":`, `"type":`) // NAT writes its own name of the field
}

// ToolCalls reads a list of tool calls as a framework writes them; nil for anything else.
func ToolCalls(list []byte) (out []formats.ToolCall) {
	var wires []wireCall
	if json.Unmarshal(list, &wires) != nil {
		return nil
	}
	for i := range wires {
		out = append(out, wires[i].call())
	}
	return out
}

func empty(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null" || string(raw) == "{}"
}
