package art

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Error is what went wrong with the server.
type Error struct {
	What  string
	Help  string
	Retry bool // the same command may succeed later
	Usage bool // the config is wrong
	Err   error

	status int // of the answer; 0 when there was none
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.What + ": " + e.Err.Error()
	}
	return e.What
}

// Unwrap returns the reason below.
func (e *Error) Unwrap() error { return e.Err }

// Hint is what the command line prints after the error.
func (e *Error) Hint() string { return e.Help }

// Temporary tells that the same command may succeed later.
func (e *Error) Temporary() bool { return e.Retry }

// Misused tells that the config is wrong.
func (e *Error) Misused() bool { return e.Usage }

func status(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.status
	}
	return 0
}

// How long an answer may take. Preparing loads a model.
const (
	quick = 30 * time.Second
	slow  = 30 * time.Minute
)

func (t *Trainer) call(ctx context.Context, limit time.Duration, path string, body, answer any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return &Error{What: "encoding the request of " + path, Err: err, Usage: true}
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.base+path, bytes.NewReader(data))
	if err != nil {
		return &Error{What: fmt.Sprintf("ART at %q", t.base), Err: err, Usage: true}
	}
	req.Header.Set("Content-Type", "application/json")
	return t.do(req, answer)
}

func (t *Trainer) get(ctx context.Context, url, key string, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, quick)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return &Error{What: fmt.Sprintf("ART at %q", t.base), Err: err, Usage: true}
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	return t.do(req, answer)
}

func (t *Trainer) do(req *http.Request, answer any) error {
	resp, err := t.http.Do(req)
	if err != nil {
		return t.unreachable(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return t.refused(req.URL.Path, resp)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return t.unreachable(err)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return &Error{What: fmt.Sprintf("ART at %q: the answer of %s", t.base, req.URL.Path), Err: err, status: resp.StatusCode}
	}
	return nil
}

func (t *Trainer) unreachable(err error) error {
	return &Error{
		What: fmt.Sprintf("failed to connect to ART backend %q", t.base), Err: err, Retry: true,
		Help: fmt.Sprintf("check that the server runs (curl %s/healthcheck), its address (submit --url), and firewalls", t.base),
	}
}

// refused turns an answer into an error with the server's own words.
func (t *Trainer) refused(path string, resp *http.Response) error {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	e := &Error{
		What:   fmt.Sprintf("ART at %q refused %s with %d: %s", t.base, path, resp.StatusCode, strings.TrimSpace(string(data))),
		Retry:  resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode > http.StatusInternalServerError,
		status: resp.StatusCode,
	}
	switch {
	case resp.StatusCode == http.StatusNotFound:
		e.Help = "is this an ART control server? The inference port is another one"
	case strings.Contains(strings.ToLower(string(data)), "out of memory"):
		e.Help = outOfMemory
	case resp.StatusCode == http.StatusInternalServerError:
		e.Help = "the server's log says more; for CUDA out of memory: " + outOfMemory
	}
	return e
}

const outOfMemory = "reduce engine_args.gpu_memory_utilization, init_args.max_seq_length or --generations, or raise engine_args.tensor_parallel_size"
