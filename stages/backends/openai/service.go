package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"

	openai "github.com/sashabaranov/go-openai"

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
