package openai

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/rollmill/rollmill/stages/internal/remote"
)

func (t *Trainer) web() *remote.Client {
	return &remote.Client{Name: "openai", HTTP: t.http, Sign: t.sign, Secrets: []string{t.cfg.APIKey}, Explain: explain}
}

// get sends a GET, and repeats it while the service is busy: it has no effect.
func (t *Trainer) get(ctx context.Context, path string, answer any) error {
	return t.web().Get(ctx, t.url(path), answer)
}

// post sends a POST, once.
func (t *Trainer) post(ctx context.Context, path string, header http.Header, body map[string]any, answer any) error {
	_, err := t.web().Do(ctx, remote.Request{Method: http.MethodPost, URL: t.url(path), Header: header, JSON: body}, answer)
	return err
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
