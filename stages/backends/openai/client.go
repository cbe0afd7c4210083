package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/internal/remote"
)

func (t *Trainer) web() *remote.Client {
	return &remote.Client{Name: "openai", HTTP: t.http, Sign: t.sign, Secrets: []string{t.cfg.APIKey}, Explain: explain}
}

// get sends a GET, and repeats it while the service is busy: it has no effect.
func (t *Trainer) get(ctx context.Context, path string, answer any) error {
	return t.web().Get(ctx, t.url(path), answer)
}

// call is one request through go-openai, which builds it. The service's answer is
// read into answer, since go-openai's types lack fields.
type call struct {
	*Trainer
	header http.Header
	fields map[string]any // added to the request
	answer any
}

func (c call) client() *openai.Client {
	config := openai.DefaultConfig("")
	config.BaseURL, config.HTTPClient = "", c
	return openai.NewClientWithConfig(config)
}

// Do sends a request of go-openai, whose URL is a path, and gives go-openai an empty answer.
func (c call) Do(r *http.Request) (*http.Response, error) {
	var err error
	if r.Method == http.MethodGet {
		err = c.get(r.Context(), r.URL.String(), c.answer)
	} else {
		body := map[string]any{}
		if r.Body != nil {
			err = json.NewDecoder(r.Body).Decode(&body)
		}
		if maps.Copy(body, c.fields); err == nil {
			_, err = c.web().Do(r.Context(), remote.Request{Method: r.Method, URL: c.url(r.URL.String()),
				Header: c.header, JSON: body}, c.answer)
		}
	}
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

func (t *Trainer) url(path string) string {
	if !t.cfg.Azure {
		return t.cfg.BaseURL + path
	}
	mark := "?"
	if strings.Contains(path, "?") {
		mark = "&"
	}
	return fmt.Sprint(t.cfg.BaseURL, path, mark, "api-version=", t.cfg.APIVersion)
}

func (t *Trainer) sign(req *http.Request) {
	if !t.cfg.Azure {
		remote.Authorize(req, t.cfg.APIKey)
	} else if t.cfg.APIKey != "" {
		req.Header.Set("api-key", t.cfg.APIKey)
	}
}

func explain(e *remote.Error, _ *http.Request, _ []byte) {
	switch e.Status {
	case http.StatusUnauthorized:
		e.Help, e.Usage = "put the key into OPENAI_API_KEY, or name a file: --api-key-file", true
	case http.StatusForbidden:
		e.Help = "the key may lack the right, or the service takes no new jobs, as OpenAI's own from 6 January 2027; another " +
			"service: --fine-tuning-url"
	}
}

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
