package apis

import (
	"encoding/json"
	"net/http"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// messagesBody is an answer in the form of Anthropic's Messages API.
type messagesBody struct {
	ID           string          `json:"id"`
	Type         string          `json:"type"`
	Role         string          `json:"role"`
	Model        string          `json:"model"`
	Content      []messagesBlock `json:"content"`
	StopReason   string          `json:"stop_reason"`
	StopSequence *string         `json:"stop_sequence"`
	Usage        messagesUsage   `json:"usage"`
}

type messagesBlock struct {
	Type      string          `json:"type"`
	Thinking  string          `json:"thinking,omitempty"`
	Signature string          `json:"signature,omitempty"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
}

type messagesUsage struct {
	Input   int32 `json:"input_tokens"` // without those from the cache
	Created int32 `json:"cache_creation_input_tokens"`
	Cached  int32 `json:"cache_read_input_tokens"`
	Output  int32 `json:"output_tokens"`
}

// signature is that of every thinking block: clients send back only those that have one.
const signature = "rollmill"

// Encode returns an answer of chat completions as a message. Of several choices,
// which that API does not have, it returns the first.
func (messagesTranslator) Encode(_ *Request, a *completion.Answer, visible []byte) []byte {
	m := a.Choices[0].Message
	top := jsontext.ParseObject(visible)
	prompt := a.Usage.Prompt
	if !a.Usage.Known {
		prompt = int32(len(a.PromptIDs))
	}
	out := messagesBody{ID: jsontext.Unquote(top.Get("id")), Type: "message", Role: "assistant", Model: a.Model,
		Content: []messagesBlock{},
		Usage:   messagesUsage{Input: max(0, prompt-a.Usage.Cached), Cached: a.Usage.Cached, Output: a.Usage.Completion}}
	refusal := completion.RefusalOf(&m)
	for _, p := range a.SplitSegments(m.Reasoning, chat.ContentText(&m)+refusal) {
		out.Content = append(out.Content, blockOf(p))
	}
	for _, c := range m.ToolCalls {
		out.Content = append(out.Content,
			messagesBlock{Type: "tool_use", ID: c.ID, Name: c.Name, Input: inputOf(c.Arguments)})
	}
	for choice := range jsontext.Elements(top.Get("choices")) {
		if stopped := jsontext.Unquote(jsontext.ParseObject(choice).Get("stop_reason")); stopped != "" {
			out.StopSequence = &stopped // as vLLM and SGLang tell it
		}
		break
	}
	out.StopReason = stopReason(&m, refusal != "", out.StopSequence != nil)
	return encode(out)
}

func blockOf(p completion.Segment) messagesBlock {
	if p.Reasoning {
		return messagesBlock{Type: "thinking", Thinking: p.Text, Signature: signature}
	}
	return messagesBlock{Type: "text", Text: p.Text}
}

func stopReason(m *formats.Message, refused, matched bool) string {
	switch {
	case refused || m.FinishReason == "content_filter":
		return "refusal"
	case m.FinishReason == "length":
		return "max_tokens"
	case len(m.ToolCalls) > 0:
		return "tool_use"
	case matched:
		return "stop_sequence"
	}
	return "end_turn"
}

func (messagesTranslator) Arguments(_ *Request, c *formats.ToolCall) string {
	return string(inputOf(c.Arguments))
}

// inputOf returns the arguments of a tool call as an object. Text that is none,
// for example because it was cut off, is its member "arguments".
func inputOf(arguments string) []byte {
	switch raw := []byte(arguments); {
	case len(raw) == 0:
		return []byte("{}")
	case json.Valid(raw) && jsontext.ParseObject(raw) != nil:
		return raw
	}
	return encode(map[string]string{"arguments": arguments})
}

// ErrorKind is the type that Anthropic's API gives to errors of a status.
func ErrorKind(status int) string {
	kind, known := errorKinds[status]
	switch {
	case known:
		return kind
	case status >= 500:
		return "api_error"
	}
	return "invalid_request_error"
}

var errorKinds = map[int]string{
	http.StatusUnauthorized:          "authentication_error",
	http.StatusForbidden:             "permission_error",
	http.StatusNotFound:              "not_found_error",
	http.StatusRequestEntityTooLarge: "request_too_large",
	http.StatusTooManyRequests:       "rate_limit_error",
	http.StatusGatewayTimeout:        "timeout_error",
	http.StatusServiceUnavailable:    "overloaded_error",
	529:                              "overloaded_error",
}
