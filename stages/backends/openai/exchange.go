package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	openai "github.com/sashabaranov/go-openai"

	"github.com/rollmill/rollmill/stages/internal/remote"
)

// How much of an answer is read, and of a refusal.
const (
	maxBody  = 64 << 20
	maxError = 1 << 20
)

// exchange is one request and its answer, on either side of go-openai.
type exchange struct {
	http   *http.Client
	fields map[string]any // of the request, over what go-openai wrote
	header http.Header    // of the answer
	body   []byte         // and its body
}

func (x *exchange) client(baseURL, apiKey string) *openai.Client {
	config := openai.DefaultConfig(apiKey)
	config.BaseURL, config.HTTPClient = baseURL, x
	return openai.NewClientWithConfig(config)
}

// Do completes the request, keeps the answer, and gives go-openai an empty one.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		if err := x.complete(req); err != nil {
			return nil, err
		}
	}
	resp, err := x.http.Do(req)
	if err != nil {
		return nil, err
	}
	x.header = resp.Header
	if to := remote.Elsewhere(resp); to != "" {
		resp.Body.Close()
		return nil, &Error{Status: resp.StatusCode, Text: "it redirects to " + to + ", which is not followed"}
	}
	if resp.StatusCode/100 != 2 {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxError), resp.Body}
		return resp, nil
	}
	defer resp.Body.Close()
	x.body, err = io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if len(x.body) > maxBody {
		return nil, fmt.Errorf("the answer is larger than %d MiB", maxBody>>20)
	}
	resp.Body = io.NopCloser(bytes.NewReader([]byte("{}")))
	return resp, nil
}

// complete adds the fields and gives every message a content.
func (x *exchange) complete(req *http.Request) error {
	written, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	body := map[string]json.RawMessage{}
	if err := json.Unmarshal(written, &body); err != nil {
		return err
	}
	for name, value := range x.fields {
		if body[name], err = json.Marshal(value); err != nil {
			return fmt.Errorf("request field %q: %w", name, err)
		}
	}
	if body["messages"], err = withContent(body["messages"]); err != nil {
		return err
	}
	whole, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(whole)), int64(len(whole))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(whole)), nil }
	return nil
}

func withContent(list json.RawMessage) (json.RawMessage, error) {
	var messages []map[string]json.RawMessage
	if err := json.Unmarshal(list, &messages); err != nil {
		return nil, err
	}
	for _, m := range messages {
		if _, has := m["content"]; !has {
			m["content"] = json.RawMessage(`""`)
		}
	}
	return json.Marshal(messages)
}
