package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/internal/remote"
)

// Client sends requests to models. Its zero value works and is safe for concurrent use.
type Client struct {
	HTTP *http.Client // nil: one that keeps connections
}

// Error is an engine's refusal.
type Error struct {
	Status int
	Text   string
	Param  string // the parameter that the service names; "" for none
	words  string // of the answer, for remote.Mend
}

var shared = remote.NewHTTP(256)

func (c Client) http() *http.Client {
	if c.HTTP == nil {
		return shared
	}
	return remote.Staying(c.HTTP)
}

// Chat sends messages to baseURL/chat/completions and returns the model's.
// fields are added to the request unchanged, and override everything else. The
// request is sent over the given client, or over c.HTTP if that is nil.
func (c Client) Chat(ctx context.Context, over *http.Client, baseURL, apiKey, model string, messages []formats.Message,
	fields map[string]any) (formats.Message, error) {
	if over != nil {
		c.HTTP = over
	}
	body, err := c.complete(ctx, baseURL, apiKey, model, messages, fields)
	if err != nil {
		return formats.Message{}, err
	}
	var answer completion
	if err := json.Unmarshal(body, &answer); err != nil {
		return formats.Message{}, fmt.Errorf("the answer is not a chat completion: %w", err)
	}
	if len(answer.Choices) == 0 {
		return formats.Message{}, errors.New("the answer has no choices")
	}
	return answer.Choices[0].read(), nil
}

func (c Client) complete(ctx context.Context, baseURL, apiKey, model string, messages []formats.Message,
	fields map[string]any) ([]byte, error) {
	x := &exchange{fields: fields, http: c.http()}
	_, err := x.client(baseURL, apiKey).
		CreateChatCompletion(ctx, openai.ChatCompletionRequest{Model: model, Messages: chatMessages(messages)})
	if err != nil {
		return nil, remote.RetryAfter(plain(err), x.header)
	}
	return x.body, nil
}

func (e *Error) Error() string { return fmt.Sprintf("HTTP %d: %s", e.Status, e.Text) }

// plain converts go-openai's errors and net/http's to short ones.
func plain(err error) error {
	var api *openai.APIError
	var request *openai.RequestError
	var u *url.Error
	switch {
	case errors.As(err, &request): // first: when the body's error is a text, it wraps an APIError that is empty
		return &Error{Status: request.HTTPStatusCode, words: remote.Words(request.Body),
			Text: strings.TrimSpace(string(bytes.ToValidUTF8(request.Body[:min(len(request.Body), 200)], nil)))}
	case errors.As(err, &api):
		e := &Error{Status: api.HTTPStatusCode, Text: api.Message, words: remote.WordsOf(fmt.Sprint(api.Code), api.Type, api.Message)}
		if api.Param != nil {
			e.Param = *api.Param
		}
		return e
	case errors.As(err, &u):
		return u.Err
	}
	return err
}
