package art

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rollmill/rollmill/stages/backends"
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

// body is a training request that is encoded while it is sent. Before each
// piece it checks whether the sender still owns the submission.
type body struct {
	*io.PipeReader
	guard  func() error
	state  atomic.Int32          // open, whole or stopped
	failed atomic.Pointer[error] // why there will be no last byte
}

func (t *Trainer) body(s backends.Submission, groups backends.Groups, plain bool, sent func(int64)) *body {
	r, w := io.Pipe()
	b := &body{PipeReader: r, guard: s.Guard}
	go func() { w.CloseWithError(t.encode(w, groups, shape(plain), s.Fence, sent)) }()
	return b
}

const (
	open    = iota // more of it may be sent
	whole          // the last byte has been handed to the connection
	stopped        // the last byte will not be sent
)

// stop keeps the last byte from being sent, and reports whether it was in time:
// then the server never gets the whole request.
func (b *body) stop() bool { return b.state.CompareAndSwap(open, stopped) || b.state.Load() == stopped }

func (b *body) Read(p []byte) (int, error) {
	var err error
	if b.guard != nil {
		err = b.guard()
	}
	n := 0
	if err == nil {
		n, err = b.PipeReader.Read(p)
	}
	switch {
	case err == io.EOF && !b.state.CompareAndSwap(open, whole) && b.state.Load() == stopped:
		return 0, io.ErrClosedPipe
	case err != nil && err != io.EOF && err != io.ErrClosedPipe:
		b.failed.Store(&err)
	}
	return n, err
}
