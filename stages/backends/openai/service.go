package openai

import (
	"bytes"
	"context"
	"fmt"
	"io"
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

func (t *Trainer) post(ctx context.Context, path string, body, answer any) error {
	return t.web().Post(ctx, t.url(path), body, answer)
}

// send sends a stream of a known length, once.
func (t *Trainer) send(ctx context.Context, path, kind string, body io.Reader, size int64, answer any) error {
	_, err := t.web().Do(ctx,
		remote.Request{Method: http.MethodPost, URL: t.url(path), Body: body, Size: size, Type: kind}, answer)
	return err
}

// library returns go-openai's client. Its requests are those of get and post: signed,
// limited in time, repeated if they have no effect, their errors without the key.
func (t *Trainer) library() *openai.Client {
	config := openai.DefaultConfig("")
	config.BaseURL, config.HTTPClient = "", sender{t}
	return openai.NewClientWithConfig(config)
}

// sender sends go-openai's requests, which have paths without the service.
type sender struct{ *Trainer }

func (s sender) Do(r *http.Request) (*http.Response, error) {
	var body []byte
	var err error
	if r.Method == http.MethodGet {
		err = s.get(r.Context(), r.URL.String(), &body)
	} else {
		err = s.post(r.Context(), r.URL.String(), struct{}{}, &body)
	}
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(body))}, nil
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
	if t.cfg.Organization != "" {
		req.Header.Set("OpenAI-Organization", t.cfg.Organization)
	}
	if t.cfg.Project != "" {
		req.Header.Set("OpenAI-Project", t.cfg.Project)
	}
}

func explain(e *remote.Error, _ *http.Request, _ []byte) {
	switch e.Status {
	case http.StatusUnauthorized:
		e.Help, e.Usage = "put the key into OPENAI_API_KEY, or name a file: --api-key-file", true
	case http.StatusForbidden:
		e.Help = "the key may lack the right, or the service takes no new jobs: OpenAI's own closes in 2026 and 2027; a " +
			"compatible one: --fine-tuning-url"
	}
}
