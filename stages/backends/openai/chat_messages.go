package openai

import (
	"cmp"
	"encoding/json"

	openai "github.com/sashabaranov/go-openai"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
)

func chatMessages(messages []formats.Message) []openai.ChatCompletionMessage {
	out := make([]openai.ChatCompletionMessage, len(messages))
	for i, m := range messages {
		out[i] = openai.ChatCompletionMessage{Role: m.Role, Content: chat.ContentText(&m), Name: m.Name,
			ToolCallID: m.ToolCallID, ReasoningContent: m.Reasoning}
		for _, t := range m.ToolCalls {
			out[i].ToolCalls = append(out[i].ToolCalls, openai.ToolCall{
				ID: t.ID, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: t.Name, Arguments: t.Arguments},
			})
		}
	}
	return out
}

// completion is the part of an answer that is read.
type completion struct {
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
}

type choice struct {
	FinishReason string          `json:"finish_reason"`
	Message      json.RawMessage `json:"message"`
	Logprobs     *struct {
		Content []json.RawMessage `json:"content"`
	} `json:"logprobs"`
}

func (c choice) read() formats.Message {
	m := chat.ReadMessage(c.Message, jsontext.Unquote)
	m.FinishReason, m.Sampled = c.FinishReason, true
	m.Role = cmp.Or(m.Role, "assistant")
	return m
}
