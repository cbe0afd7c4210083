package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/rollmill/rollmill/formats/jsontext"
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
	body := jsontext.ParseObject(written)
	body.Set("messages", withContent(body.Get("messages")))
	for name, value := range x.fields {
		raw, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("request field %q: %w", name, err)
		}
		body.Set(name, raw)
	}
	slices.SortFunc(body, func(a, b jsontext.Member) int { return strings.Compare(a.Key, b.Key) }) // the same request each time
	whole := body.Bytes()
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(whole)), int64(len(whole))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(whole)), nil }
	return nil
}

func withContent(list []byte) []byte {
	var out [][]byte
	for m := range jsontext.Elements(list) {
		if o := jsontext.ParseObject(m); o.Get("content") == nil {
			o.Set("content", []byte(`""`))
			m = o.Bytes()
		}
		out = append(out, m)
	}
	return slices.Concat([]byte{'['}, bytes.Join(out, []byte{','}), []byte{']'})
}
