// Package remote is the HTTP client for trainers, agents and rewards that are
// services: limits of time and size, errors that quote the service and never a
// secret, and retries while a service is busy.
//
// Packages with requests of their own, such as the recorder and agent nat,
// which stream, use its parts: Retry and RetryAfter for retries and waits,
// Staying for redirects, Authorize for the key.
//
// It knows no service. The caller's Explain interprets a refusal.
package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/rollmill/rollmill/storage/fault"
)

// MaxAnswer is how much of an answer is read by default.
const MaxAnswer = 32 << 20

// Limit is how long an answer may take by default, plus a second for each 256
// KiB of the request's body.
const Limit = time.Minute

const (
	slowest    = 256 << 10 // bytes a second
	maxRefusal = 64 << 10  // its beginning explains the refusal
)

// Client sends requests to services. It is safe for concurrent use.
type Client struct {
	Name     string              // begins each error
	HTTP     *http.Client        // nil: one that keeps connections
	Sign     func(*http.Request) // adds credentials; nil for none
	Secrets  []string            // never appear in an error
	MaxBytes int64               // of an answer; 0 for MaxAnswer

	// Explain completes the error of a request that failed; e.Status is 0 if
	// there was no answer. nil: the error stays as it is.
	Explain func(e *Error, r *http.Request, answer []byte)
}

// IdempotencyHeader identifies a request that is sent once: a service that knows the header
// answers a second request of the same name with the first one's answer. It is in lower case
// because net/http repeats a POST by itself, after a broken connection, if it finds the
// canonical name; a service that does not know the header would then act twice.
const IdempotencyHeader = "idempotency-key"

// Request is one request.
type Request struct {
	Method string // default GET
	URL    string
	Header http.Header
	JSON   any       // the body, unless Body is given
	Body   io.Reader // of Size bytes
	Size   int64
	Type   string        // of Body
	Limit  time.Duration // until the answer is complete; 0 for Limit and the body's time, negative for none
}

// Do sends a request once. answer is a pointer for the JSON of the answer, a
// *[]byte for its bytes, or nil.
func (c *Client) Do(ctx context.Context, q Request, answer any) (http.Header, error) {
	ctx, cancel := q.limited(ctx)
	defer cancel()
	r, err := c.request(ctx, q)
	if err != nil {
		return nil, err
	}
	resp, err := c.http().Do(r)
	if err != nil {
		return nil, c.Unreachable(r, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return resp.Header, c.Refused(resp)
	}
	limit := cmp.Or(c.MaxBytes, MaxAnswer)
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return resp.Header, c.Unreachable(r, fmt.Errorf("reading the response: %w", err))
	}
	if int64(len(data)) > limit {
		return resp.Header, c.clean(&Error{What: c.what(r), Err: TooLargeError(limit), Status: resp.StatusCode})
	}
	switch answer := answer.(type) {
	case nil:
	case *[]byte:
		*answer = data
	default:
		if err := json.Unmarshal(data, answer); err != nil {
			return resp.Header, c.clean(&Error{What: c.what(r) + ": the answer", Err: err, Status: resp.StatusCode})
		}
	}
	return resp.Header, nil
}

// limited returns a context with the request's limit, whose cause names the limit.
func (q *Request) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := q.Limit
	if limit < 0 {
		return ctx, func() {}
	}
	if limit == 0 {
		limit = Limit + time.Duration(q.Size/slowest)*time.Second
	}
	return context.WithTimeoutCause(ctx, limit, LateError(limit))
}

// Get sends a GET, and repeats it while the service is busy: it has no effect.
func (c *Client) Get(ctx context.Context, url string, answer any) error {
	return Again(ctx, func() error {
		_, err := c.Do(ctx, Request{URL: url}, answer)
		return err
	})
}

// Post sends JSON, once.
func (c *Client) Post(ctx context.Context, url string, body, answer any) error {
	_, err := c.Do(ctx, Request{Method: http.MethodPost, URL: url, JSON: body}, answer)
	return err
}

// http returns a client that does not follow a redirect to another host or
// port, which would get the key.
func (c *Client) http() *http.Client {
	return Staying(cmp.Or(c.HTTP, http.DefaultClient))
}

func (c *Client) request(ctx context.Context, q Request) (*http.Request, error) {
	if q.Body == nil && q.JSON != nil {
		data, err := json.Marshal(q.JSON)
		if err != nil {
			return nil, &Error{What: c.Name + ": encoding a request", Err: err, Usage: true}
		}
		q.Body, q.Size, q.Type = bytes.NewReader(data), int64(len(data)), "application/json"
	}
	r, err := http.NewRequestWithContext(ctx, q.Method, q.URL, q.Body)
	if err != nil {
		return nil, c.clean(&Error{What: c.Name, Err: err, Usage: true})
	}
	if q.Body != nil {
		if r.ContentLength = q.Size; q.Size == 0 { // otherwise net/http treats it as unknown
			r.Body = http.NoBody
		}
		if q.Type != "" {
			r.Header.Set("Content-Type", q.Type)
		}
	}
	maps.Copy(r.Header, q.Header)
	if c.Sign != nil {
		c.Sign(r)
	}
	return r, nil
}

// Authorize adds a key as a bearer token; "" adds nothing.
func Authorize(r *http.Request, key string) {
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
}

// what identifies a request in errors, without its query, which may hold a signature.
func (c *Client) what(r *http.Request) string {
	what := fmt.Sprintf("%s %s://%s%s", r.Method, r.URL.Scheme, r.URL.Host, r.URL.EscapedPath())
	if c.Name != "" {
		what = c.Name + ": " + what
	}
	return what
}

// Unreachable returns the error of a request without a complete answer.
func (c *Client) Unreachable(r *http.Request, err error) *Error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var op *net.OpError
	unsent := errors.As(err, &op) && op.Op == "dial"
	if r.Context().Err() != nil {
		err = context.Cause(r.Context())
	}
	return c.explained(&Error{What: c.what(r), Err: err, Retry: !fault.IsPermanent(err), Unsent: unsent,
		Help: "is the service up, and the address right?"}, r, nil)
}

// Refused returns the error of an answer with an error status, in the service's own words.
func (c *Client) Refused(resp *http.Response) *Error {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	if to := Elsewhere(resp); to != "" {
		said := fmt.Sprintf("it redirects to %s, which is not followed", to)
		return c.explained(&Error{
			What:   fmt.Sprintf("%s: %d: %s", c.what(resp.Request), resp.StatusCode, said),
			Help:   "give the address to which the service redirects",
			Status: resp.StatusCode,
		}, resp.Request, []byte(said))
	}
	e := &Error{
		What:   fmt.Sprintf("%s: %d: %s", c.what(resp.Request), resp.StatusCode, Text(resp.Header, data)),
		Status: resp.StatusCode, Answer: data, After: After(resp.Header, time.Now()),
		Retry: resp.StatusCode == http.StatusRequestTimeout || resp.StatusCode == http.StatusTooManyRequests ||
			resp.StatusCode >= 500,
	}
	e.Retry = e.Retry && MendOf(e) == ""
	return c.explained(e, resp.Request, data)
}

func (c *Client) explained(e *Error, r *http.Request, data []byte) *Error {
	if c.Explain != nil {
		c.Explain(e, r, data)
	}
	return c.clean(e)
}
