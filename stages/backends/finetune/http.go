package finetune

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Error is what went wrong with the service.
type Error struct {
	What  string
	Help  string
	Retry bool // the same command may succeed later
	Usage bool // the config is wrong
	Err   error

	status int // of the answer; 0 when there was none
	after  time.Duration
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

const (
	quick   = time.Minute // for an answer without a file
	maxBody = 32 << 20
	tries   = 5
)

// get asks, and asks again while the service is busy: asking has no effect.
func (t *Trainer) get(ctx context.Context, path string, answer any) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := t.do(ctx, http.MethodGet, path, "", nil, 0, answer)
		var e *Error
		switch {
		case err == nil || ctx.Err() != nil || !errors.As(err, &e) || !e.Retry:
			if err != nil {
				err = backoff.Permanent(err)
			}
		case e.after > 0:
			err = errors.Join(err, backoff.RetryAfter(int(e.after.Seconds())))
		}
		return struct{}{}, err
	}, backoff.WithMaxTries(tries), backoff.WithBackOff(&backoff.ExponentialBackOff{InitialInterval: 200 * time.Millisecond, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: 10 * time.Second}))
	return err
}

// post sends once.
func (t *Trainer) post(ctx context.Context, path string, body, answer any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return &Error{What: "openai: encoding the request of " + path, Err: err, Usage: true}
	}
	return t.do(ctx, http.MethodPost, path, "application/json", bytes.NewReader(data), int64(len(data)), answer)
}

func (t *Trainer) url(path string) string {
	if !t.cfg.Azure {
		return t.cfg.BaseURL + path
	}
	mark := "?"
	if strings.Contains(path, "?") {
		mark = "&"
	}
	return t.cfg.BaseURL + path + mark + "api-version=" + t.cfg.APIVersion
}

func (t *Trainer) do(ctx context.Context, method, path, kind string, body io.Reader, size int64, answer any) error {
	if kind == "" || kind == "application/json" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, quick, fmt.Errorf("no answer within %s", quick))
		defer cancel()
	}
	what := fmt.Sprintf("openai: %s %s%s", method, t.cfg.BaseURL, strings.SplitN(path, "?", 2)[0])
	req, err := http.NewRequestWithContext(ctx, method, t.url(path), body)
	if err != nil {
		return &Error{What: what, Err: err, Usage: true}
	}
	if body != nil {
		req.ContentLength = size
		req.Header.Set("Content-Type", kind)
	}
	t.sign(req)
	resp, err := t.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return &Error{What: what, Err: err, Retry: true, Help: "is the service up, and the address right?"}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return &Error{What: what, Err: err, Retry: true}
	}
	if resp.StatusCode/100 != 2 {
		return t.refused(what, resp, data)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return &Error{What: what + ": the answer", Err: err}
	}
	return nil
}

func (t *Trainer) sign(req *http.Request) {
	switch {
	case t.cfg.APIKey == "":
	case t.cfg.Azure:
		req.Header.Set("api-key", t.cfg.APIKey)
	default:
		req.Header.Set("Authorization", "Bearer "+t.cfg.APIKey)
	}
	if t.cfg.Organization != "" {
		req.Header.Set("OpenAI-Organization", t.cfg.Organization)
	}
	if t.cfg.Project != "" {
		req.Header.Set("OpenAI-Project", t.cfg.Project)
	}
}

// refused explains an answer in the service's own words, without the key.
func (t *Trainer) refused(what string, resp *http.Response, data []byte) error {
	var body struct {
		Error *struct{ Message, Param string } `json:"error"`
	}
	text := strings.TrimSpace(string(data[:min(len(data), 500)]))
	if json.Unmarshal(data, &body) == nil && body.Error != nil && body.Error.Message != "" {
		text = body.Error.Message
		if body.Error.Param != "" {
			text += " (" + body.Error.Param + ")"
		}
	}
	if t.cfg.APIKey != "" {
		text = strings.ReplaceAll(text, t.cfg.APIKey, "[key]")
	}
	e := &Error{What: fmt.Sprintf("%s: %d: %s", what, resp.StatusCode, text), status: resp.StatusCode}
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized:
		e.Help, e.Usage = "put the key into OPENAI_API_KEY, or name a file: --api-key-file", true
	case code == http.StatusForbidden:
		e.Help = "the key may lack the right, or the service takes no new jobs: OpenAI's own closes in 2026 and 2027; a compatible one: --fine-tuning-url"
	case code == http.StatusTooManyRequests || code >= 500:
		e.Retry = true
		if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
			e.after = time.Duration(min(seconds, 60)) * time.Second
		}
	}
	return e
}
