package recorder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/stages/internal/remote"
)

// engineOptions say which engines are asked, and how; see Options.
type engineOptions struct {
	Endpoints            []string
	APIKey               string
	Retries              int
	Backoff, CallTimeout time.Duration
	Connections          int
	RateLimit, Slowdown  float64
	HealthEvery          time.Duration
	Log                  *slog.Logger
	Now                  func() time.Time
}

type engines struct {
	opts    engineOptions
	client  *http.Client
	balance *balance
	rate    *rate.Limiter

	mu      sync.Mutex
	refused map[string][]string // by endpoint: added fields that it refuses
}

func newEngines(o engineOptions) *engines {
	u := &engines{opts: o, client: newClient(o.Connections), rate: rate.NewLimiter(rate.Inf, 0), refused: map[string][]string{}}
	if o.RateLimit > 0 {
		u.rate = rate.NewLimiter(rate.Limit(o.RateLimit), max(1, int(o.RateLimit)))
	}
	u.balance = newBalance(&u.opts, u.client)
	return u
}

// result is the result of a call: a whole body, or a stream whose first event
// was read.
type result struct {
	status   int
	header   http.Header
	body     []byte        // of anything but a stream
	visible  []byte        // the part that the agent sees
	buffer   *bytes.Buffer // of the body; nil if it is not reused
	answer   *answer
	events   *eventReader // of a stream; its body is open
	endpoint string
	tries    int32
	failure  *Failure        // nil when the engine answered
	topLevel jsontext.Object // of a stream that is translated: members that not every chunk has
	ended    bool            // nothing more of the stream is read
}

// refusedError is the error of a try that the engine answered with an error status.
type refusedError struct{ result *result }

func (e *refusedError) Error() string { return e.result.failure.Text }

// call sends a request until it is answered, refused or out of retries. A retry
// goes to another endpoint, if there is one, and so does a request that one refused as it
// refuses every other: see remote.Mend.
func (u *engines) call(ctx context.Context, group string, q *request, header http.Header) *result {
	tries := 0
	var at *endpoint
	var last error
	closed := map[*endpoint]bool{} // refuse everybody
	r, err := remote.Retry(ctx, uint(u.opts.Retries+1), u.opts.Backoff, func() (*result, error) {
		if err := u.rate.Wait(ctx); err != nil {
			return nil, remote.Permanent(err)
		}
		e, err := u.balance.acquire(ctx, group, at)
		if err != nil {
			return nil, remote.Permanent(err)
		}
		at = e
		tries++
		r, err := u.tryAt(ctx, e, q, header)
		if ctx.Err() == nil {
			last = err
		}
		if refused := (*refusedError)(nil); errors.As(err, &refused) && refused.result.failure.Mend != "" {
			if closed[e] = true; len(closed) < len(u.opts.Endpoints) {
				err = refused // not permanent
			}
		}
		return r, err
	})
	if err != nil {
		r = failedResult(ctx, err, last)
	}
	if r.tries = int32(tries); at != nil {
		r.endpoint = at.url
	}
	return r
}

// tryAt sends a request once, and frees the place at the endpoint when the
// answer has arrived, or its stream has ended.
func (u *engines) tryAt(ctx context.Context, e *endpoint, q *request, header http.Header) (*result, error) {
	began := u.opts.Now()
	r, err := u.try(ctx, e.url, q, header)
	done := func(v verdict, took time.Duration) { u.balance.release(e, v, began, u.opts.Now(), took) }
	switch {
	case err != nil:
		done(verdictOf(ctx, err), 0)
	case r.events != nil:
		stop := r.events.close
		r.events.close = sync.OnceFunc(func() {
			stop()
			done(answered, 0)
		})
	default:
		done(answered, u.opts.Now().Sub(began)/time.Duration(max(1, r.answer.usage.completion)))
	}
	return r, err
}

// verdictOf returns what a failed try shows about the endpoint.
func verdictOf(ctx context.Context, err error) verdict {
	var refused *refusedError
	switch {
	case ctx.Err() != nil:
		return neither
	case !errors.As(err, &refused), refused.result.failure.Mend != "":
		return failing
	case refused.result.status == http.StatusTooManyRequests || refused.result.status == http.StatusServiceUnavailable:
		return throttled
	case refused.result.status >= 500:
		return failing
	}
	return neither
}

// failedResult is the result of a call that ended with err; last is the error of the last try that ended before
// the context: an agent that hung up while the engine was asked again does not hide that it failed.
func failedResult(ctx context.Context, err, last error) *result {
	var refused *refusedError
	switch {
	case ctx.Err() != nil && last != nil:
		return &result{failure: &Failure{Class: formats.FailEngine, Text: fmt.Sprintf("%v; %v", last, context.Cause(ctx))}}
	case ctx.Err() != nil:
		return &result{failure: &Failure{Class: formats.FailCancelled, Text: context.Cause(ctx).Error()}}
	case errors.As(err, &refused):
		return refused.result
	}
	return &result{failure: &Failure{Class: formats.FailEngine, Text: err.Error()}}
}

// try sends a request once; an error is permanent or may be retried. If a
// refusal names a field that was added to the request, it is sent again without
// that field. Only if that succeeds has the engine refused the field: an error
// may echo the whole request, whatever it is about.
func (u *engines) try(ctx context.Context, endpoint string, q *request, header http.Header) (*result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, u.opts.CallTimeout, remote.LateError(u.opts.CallTimeout))
	var here []string // left out of this request
	for {
		without := slices.Concat(u.without(endpoint), here)
		if q.onWhole != nil && slices.Contains(without, q.streamed()) {
			q.onWhole()
		}
		r, err := u.send(ctx, cancel, endpoint, q, header, without)
		if field := refusedField(q, without, err); field != "" {
			here = append(here, field)
			continue
		}
		if err == nil && len(here) > 0 {
			u.rememberRefused(endpoint, q, here[len(here)-1])
		}
		if err != nil || r.events == nil {
			cancel()
		}
		return r, err
	}
}

// refusedField returns an added field that a refusal names and that was sent, or "".
func refusedField(q *request, without []string, err error) string {
	streamed := q.streamed()
	if slices.Contains(without, streamed) {
		streamed = ""
	}
	if errors.Is(err, errNoStreamLogprobs) {
		return streamed
	}
	var refused *refusedError
	if !errors.As(err, &refused) {
		return ""
	}
	because := func(name string) bool {
		return name != "" && !slices.Contains(without, name) && refused.result.refuses(name)
	}
	if i := slices.IndexFunc(q.added, because); i >= 0 {
		return q.added[i]
	}
	if streamed != "" && (refused.result.refuses("stream") || q.needsLogprobs && refused.result.refuses("logprobs")) {
		return streamed
	}
	if because(q.optional) {
		return q.optional
	}
	return ""
}

func (u *engines) without(endpoint string) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.refused[endpoint]
}

// rememberRefused remembers the field without which a refused request was answered, and
// reports it once. Fields that were left out before it may be innocent: they
// are sent again.
func (u *engines) rememberRefused(endpoint string, q *request, field string) {
	streamed := q.streamed()
	if !slices.Contains(q.added, field) && field != streamed {
		return // optional: refused here, and perhaps accepted elsewhere
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if slices.Contains(u.refused[endpoint], field) {
		return
	}
	u.refused[endpoint] = append(slices.Clone(u.refused[endpoint]), field)
	if field == streamed {
		u.opts.Log.Info("the engine's streams lack logprobs; from now on it is asked for whole answers, which agents get "+
			"when they are complete", "endpoint", endpoint, "request", field)
		return
	}
	u.opts.Log.Error("the engine refuses a request field; it is left out from now on, and the data that it requests will "+
		"be missing from the rows", "endpoint", endpoint, "field", field)
}

// refuses reports whether an engine refused a request because of a field.
func (r *result) refuses(name string) bool {
	return (r.status == http.StatusBadRequest || r.status == http.StatusUnprocessableEntity) &&
		bytes.Contains(r.body, []byte(name))
}

// send makes one HTTP request. A stream takes over cancel.
func (u *engines) send(ctx context.Context, cancel context.CancelFunc, endpoint string, q *request, header http.Header,
	without []string) (*result, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint+q.api.path, bytes.NewReader(q.body(without)))
	if err != nil {
		return nil, remote.Permanent(err)
	}
	forward(req.Header, header)
	req.Header.Set("Content-Type", "application/json")
	remote.Authorize(req, u.opts.APIKey)
	resp, err := u.client.Do(req)
	if err != nil {
		return nil, transportError(ctx, err)
	}
	return u.read(ctx, cancel, resp, q)
}

// read reads an answer, or the beginning of a stream.
func (u *engines) read(ctx context.Context, cancel context.CancelFunc, resp *http.Response, q *request) (*result, error) {
	if resp.StatusCode/100 == 2 && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") &&
		(!q.api.translated() || q.streamTranslated()) {
		return u.openStream(ctx, cancel, resp, q)
	}
	defer resp.Body.Close()
	limit := maxAnswer
	if resp.StatusCode/100 != 2 {
		limit = maxRefusal
	}
	buffer := bodies.Get().(*bytes.Buffer)
	body, err := readAll(buffer, resp.Body, resp.ContentLength, limit)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, remote.Permanent(fmt.Errorf("HTTP %d: the answer is larger than %d MiB", resp.StatusCode,
			limit>>20))
	case err != nil:
		return nil, transportError(ctx, err)
	}
	r := &result{status: resp.StatusCode, header: resp.Header, body: body, answer: &answer{}}
	if resp.StatusCode/100 != 2 {
		return nil, statusError(r)
	}
	if err := r.readBody(q); err != nil {
		return nil, err
	}
	r.buffer = buffer
	return r, nil
}

// readBody reads the answer in a body.
func (r *result) readBody(q *request) (err error) {
	see := q.view
	see.stream = false
	if r.visible, err = r.answer.add(r.body, see); err != nil {
		return err
	}
	if len(r.answer.choices) == 0 && r.answer.err == nil {
		return fmt.Errorf("%w: no choices: %s", errNotCompletion, excerpt(r.body))
	}
	return r.answer.err
}

// readWhole returns the result of a call that has this whole answer; no engine is asked.
func readWhole(q *request, body []byte) *result {
	r := &result{status: http.StatusOK, header: http.Header{"Content-Type": {"application/json"}}, body: body, answer: &answer{}}
	if err := r.readBody(q); err != nil {
		return &result{failure: &Failure{Class: formats.FailEngine, Text: err.Error()}}
	}
	return r
}

// bodies are buffers of answers that were forwarded. An answer has a few
// hundred kilobytes, and nothing that is recorded of it points into them.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

const keptBody = 4 << 20 // a larger buffer is not kept

// release frees the body, which must not be used afterwards.
func (r *result) release() {
	b := r.buffer
	r.buffer, r.body, r.visible = nil, nil, nil
	if b != nil && b.Cap() <= keptBody {
		b.Reset()
		bodies.Put(b)
	}
}

const (
	maxAnswer  = 64 << 20 // half a million tokens with logprobs, and more
	maxRefusal = 1 << 20  // an engine's error
)

var errTooLarge = errors.New("too large")

// readAll reads at most limit bytes, or returns errTooLarge; size is the
// announced length. It allocates at most one and a half times the limit.
func readAll(b *bytes.Buffer, r io.Reader, size int64, limit int) ([]byte, error) {
	if size > int64(limit) {
		return nil, errTooLarge
	}
	if size > 0 {
		b.Grow(int(min(size, 8<<20)) + bytes.MinRead)
	}
	for {
		if b.Available() == 0 {
			grown := make([]byte, b.Len(), min(max(2*b.Len(), 8<<10), limit+1))
			copy(grown, b.Bytes())
			*b = *bytes.NewBuffer(grown)
		}
		room := b.AvailableBuffer()
		n, err := r.Read(room[:min(cap(room), limit+1-b.Len())])
		b.Write(room[:n])
		switch {
		case b.Len() > limit:
			return nil, errTooLarge
		case err == io.EOF:
			return b.Bytes(), nil
		case err != nil:
			return nil, err
		}
	}
}

func (u *engines) openStream(ctx context.Context, cancel context.CancelFunc, resp *http.Response,
	q *request) (*result, error) {
	e := newEventReader(resp.Body, func() { cancel(); resp.Body.Close() })
	r := &result{status: resp.StatusCode, header: resp.Header, answer: &answer{acceptNoFinish: q.acceptNoFinish}, events: e}
	if err := r.open(q); err != nil {
		resp.Body.Close()
		return nil, transportError(ctx, err)
	}
	return r, nil
}

// open reads the first event of a stream. A stream that is translated is read up to
// the first text or call, so that it can still be abandoned.
func (r *result) open(q *request) error {
	if q.needsLogprobs && strings.HasPrefix(r.header.Get("Server"), "llama.cpp") {
		return errNoStreamLogprobs // its streams lack the end mark's
	}
	if q.api.translated() {
		return r.openTranslated(q)
	}
	if err := r.events.peek(); err != nil {
		return err
	}
	if err := r.events.first.addTo(r.answer, q.view); err != nil {
		return err
	}
	return r.answer.err
}

// transportError removes the URL: rows have a column for the endpoint, and no
// row's text should depend on its port.
func transportError(ctx context.Context, err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause // it says more than "context deadline exceeded"
	}
	return err
}

// newClient returns a client that requests no compression, so that answers are
// forwarded byte for byte, and that has no time limit of its own. It follows no
// redirect: the key and the prompts are for the configured address only.
func newClient(connections int) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableCompression = true
	t.MaxIdleConns = 0
	t.MaxIdleConnsPerHost = connections
	// Answers with logprobs are long, but the buffers of many connections may take
	// no more than 64 MiB together.
	t.ReadBufferSize = min(64<<10, max(4<<10, (64<<20)/connections))
	return &http.Client{Transport: remote.Uncompressed(t), CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}
