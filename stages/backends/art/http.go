package art

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/rollmill/rollmill/stages/internal/remote"
)

// Error is what went wrong with the server.
type Error = remote.Error

// Time limits of an answer. Preparing loads a model.
const (
	quick = 30 * time.Second
	slow  = 30 * time.Minute
)

func (t *Trainer) web() *remote.Client {
	c := &remote.Client{Name: fmt.Sprintf("ART at %q", t.base), HTTP: t.http, Explain: t.explain}
	if t.cfg.APIKey != "default" { // the word occurs everywhere
		c.Secrets = []string{t.cfg.APIKey}
	}
	return c
}

func (t *Trainer) call(ctx context.Context, limit time.Duration, path string, body, answer any) error {
	_, err := t.web().Do(ctx, remote.Request{Method: http.MethodPost, URL: t.base + path, JSON: body, Limit: limit}, answer)
	return err
}

func (t *Trainer) get(ctx context.Context, url, key string, answer any) error {
	q := remote.Request{URL: url, Limit: quick}
	if key != "" {
		q.Header = http.Header{"Authorization": {"Bearer " + key}}
	}
	_, err := t.web().Do(ctx, q, answer)
	return err
}

// explain adds a hint, and the server's own words.
func (t *Trainer) explain(e *Error, r *http.Request, answer []byte) {
	if e.Status == 0 {
		e.What = fmt.Sprintf("failed to connect to ART backend %q", t.base)
		e.Help = fmt.Sprintf("check that the server runs (curl %s/healthcheck), its address (submit --url), "+
			"and firewalls", t.base)
		return
	}
	said := strings.TrimSpace(string(answer[:min(len(answer), 4<<10)]))
	e.What = fmt.Sprintf("ART at %q refused %s with %d: %s", t.base, r.URL.Path, e.Status, said)
	e.Retry = e.Status == http.StatusTooManyRequests || e.Status > http.StatusInternalServerError
	switch {
	case e.Status == http.StatusNotFound:
		e.Help = "check that this is the ART control server's port, not the inference port"
	case strings.Contains(strings.ToLower(said), "out of memory"):
		e.Help = outOfMemory
	case e.Status == http.StatusInternalServerError:
		e.Help = "see the server's log; for CUDA out of memory: " + outOfMemory
	}
}

const outOfMemory = "reduce engine_args.gpu_memory_utilization, init_args.max_seq_length or rollout --generations, or raise " +
	"engine_args.tensor_parallel_size"
