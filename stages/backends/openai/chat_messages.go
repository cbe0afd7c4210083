package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"

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

// The two names of the limit of an answer's tokens. OpenAI's current models
// refuse the old one; older engines do not know the new one.
const (
	maxTokens           = "max_tokens"
	maxCompletionTokens = "max_completion_tokens"
)

// renamed holds the services and models that need the new name: those that refused a request
// with the old one and then accepted the same request with the new one.
var renamed sync.Map // of [2]string{URL, model}

// bounded is complete with max_tokens under the name that the service accepts.
func (c Client) bounded(ctx context.Context, baseURL, apiKey, model string, messages []formats.Message,
	fields map[string]any) ([]byte, error) {
	if _, has := fields[maxTokens]; !has {
		return c.complete(ctx, baseURL, apiKey, model, messages, fields)
	}
	current := maps.Clone(fields)
	current[maxCompletionTokens] = current[maxTokens]
	delete(current, maxTokens)
	service := [2]string{baseURL, model}
	if _, known := renamed.Load(service); known {
		body, err := c.complete(ctx, baseURL, apiKey, model, messages, current)
		if !names(err, maxCompletionTokens) {
			return body, err
		}
		renamed.Delete(service) // another engine answers now
	}
	body, err := c.complete(ctx, baseURL, apiKey, model, messages, fields)
	if !names(err, maxTokens) {
		return body, err
	}
	again, second := c.complete(ctx, baseURL, apiKey, model, messages, current)
	var refused *Error
	switch {
	case second == nil:
		renamed.Store(service, true)
		return again, nil
	case errors.As(second, &refused) && refused.OfRequest():
		return body, err // the name is not the cause
	}
	return again, second
}

// names reports whether the error of a refused request names a parameter.
func names(err error, parameter string) bool {
	var e *Error
	return errors.As(err, &e) && e.OfRequest() && (e.Param == parameter || strings.Contains(e.Text, parameter))
}
