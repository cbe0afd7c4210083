package sandbox

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
)

// Limits of the engine.
const (
	maxContext = 1 << 17 // tokens of a prompt and its answer: coding agents begin with 85,000 characters
	maxAnswer  = 64      // tokens, when the request sets no limit
	maxCall    = 1024    // the same, with tools
	maxChoices = 128
	maxTop     = 20
)

type chatRequest struct {
	Model               string          `json:"model"`
	Messages            []chatMessage   `json:"messages"`
	Stream              bool            `json:"stream"`
	StreamOptions       streamOptions   `json:"stream_options"`
	Temperature         *float64        `json:"temperature"`
	TopP                *float64        `json:"top_p"`
	N                   *int            `json:"n"`
	Seed                *int64          `json:"seed"`
	Stop                json.RawMessage `json:"stop"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	Logprobs            bool            `json:"logprobs"`
	TopLogprobs         int             `json:"top_logprobs"`
	Tools               json.RawMessage `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	Parallel            *bool           `json:"parallel_tool_calls"`

	// as vLLM
	ReturnTokenIDs         bool `json:"return_token_ids"`
	ReturnTokensAsTokenIDs bool `json:"return_tokens_as_token_ids"`

	// not supported; refused when set, since ignoring them would change the request
	FrequencyPenalty float64            `json:"frequency_penalty"`
	PresencePenalty  float64            `json:"presence_penalty"`
	LogitBias        map[string]float64 `json:"logit_bias"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatMessage struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ToolCalls json.RawMessage `json:"tool_calls"`
}

// turn renders a message for the policy, which reads text. Its own tool calls
// that come back with the same arguments render to the same text again.
func (m chatMessage) turn() (turn, error) {
	text, err := contentText(m.Content)
	if err != nil {
		return turn{}, err
	}
	if len(m.ToolCalls) == 0 || string(m.ToolCalls) == "null" {
		return turn{m.Role, text}, nil
	}
	var calls []toolCall
	if err := json.Unmarshal(m.ToolCalls, &calls); err != nil {
		return turn{}, fmt.Errorf("tool_calls: %w", err)
	}
	for _, c := range calls {
		text += openCall + `{"name": ` + quoted(c.Function.Name) + `, "arguments": ` + c.Function.Arguments + "}" + closeCall
	}
	return turn{m.Role, text}, nil
}

// contentText reads a string, null, or a list of text parts.
func contentText(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var text string
	if raw[0] == '"' {
		err := json.Unmarshal(raw, &text)
		return text, err
	}
	var parts []struct{ Type, Text string }
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", fmt.Errorf("content must be a string or a list of parts")
	}
	for _, p := range parts {
		if p.Type != "text" && p.Type != "refusal" {
			return "", fmt.Errorf("content part of type %q: this model reads text only", p.Type)
		}
		text += p.Text
	}
	return text, nil
}

var roles = []string{"system", "developer", "user", "assistant", "tool", "function"}

// turns checks the messages and renders them.
func (r *chatRequest) turns() ([]turn, *apiError) {
	if len(r.Messages) == 0 {
		return nil, badRequest("messages", "messages must have at least one element")
	}
	turns := make([]turn, 0, len(r.Messages)+1)
	if hasTools(r.Tools) {
		turns = append(turns, turn{"system", toolsText(r.Tools)})
	}
	for i, m := range r.Messages {
		if !slices.Contains(roles, m.Role) {
			return nil, badRequest("messages", "messages[%d]: unknown role %q; use one of %s", i, m.Role, strings.Join(roles, ", "))
		}
		t, err := m.turn()
		if err != nil {
			return nil, badRequest("messages", "messages[%d]: %v", i, err)
		}
		turns = append(turns, t)
	}
	return turns, nil
}

// sampling checks the request's numbers and fills in their defaults.
func (r *chatRequest) sampling(promptTokens int) (sampling, int, *apiError) {
	s := sampling{temperature: 1, topP: 1, maxTokens: maxAnswer, top: r.TopLogprobs, seed: rand.Uint64()}
	choices := 1
	calling, bad := r.calling()
	if calling != nil {
		s.calling, s.maxTokens = calling, maxCall
	}
	set(&s.temperature, r.Temperature)
	set(&s.topP, r.TopP)
	set(&choices, r.N)
	set(&s.maxTokens, r.MaxTokens)
	set(&s.maxTokens, r.MaxCompletionTokens)
	if r.Seed != nil {
		s.seed = uint64(*r.Seed)
	}
	switch {
	case bad != nil:
		return s, 0, bad
	case s.temperature < 0 || s.temperature > 2:
		return s, 0, badRequest("temperature", "temperature %g: must be between 0 and 2", s.temperature)
	case s.topP <= 0 || s.topP > 1:
		return s, 0, badRequest("top_p", "top_p %g: must be above 0 and at most 1", s.topP)
	case choices < 1 || choices > maxChoices:
		return s, 0, badRequest("n", "n %d: must be between 1 and %d", choices, maxChoices)
	case s.maxTokens < 1:
		return s, 0, badRequest("max_tokens", "max_tokens %d: must be at least 1", s.maxTokens)
	case s.top < 0 || s.top > maxTop:
		return s, 0, badRequest("top_logprobs", "top_logprobs %d: must be between 0 and %d", s.top, maxTop)
	case s.top > 0 && !r.Logprobs:
		return s, 0, badRequest("top_logprobs", "top_logprobs needs logprobs to be true")
	case r.FrequencyPenalty != 0 || r.PresencePenalty != 0 || len(r.LogitBias) > 0:
		return s, 0, badRequest("logit_bias", "this model takes no penalties and no logit bias")
	case promptTokens >= maxContext:
		return s, 0, newAPIError(http.StatusBadRequest, "invalid_request_error", "messages", "context_length_exceeded",
			"this model's maximum context length is %d tokens, but the messages have %d", maxContext, promptTokens)
	}
	s.maxTokens = min(s.maxTokens, maxContext-promptTokens)
	s.stop, bad = r.stops()
	return s, choices, bad
}

func set[T any](into *T, value *T) {
	if value != nil {
		*into = *value
	}
}

// stops reads null, a string or a list of them.
func (r *chatRequest) stops() ([]string, *apiError) {
	if len(r.Stop) == 0 || string(r.Stop) == "null" {
		return nil, nil
	}
	var one string
	var many []string
	if json.Unmarshal(r.Stop, &one) == nil {
		many = []string{one}
	} else if err := json.Unmarshal(r.Stop, &many); err != nil {
		return nil, badRequest("stop", "stop must be a string or a list of strings")
	}
	return slices.DeleteFunc(many, func(s string) bool { return s == "" }), nil
}
