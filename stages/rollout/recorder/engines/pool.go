package engines

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

	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/internal/remote"
	"github.com/rollmill/rollmill/storage/fault"
)

// Settings say which engines are asked, and how. The recorder's defaults stand for what is zero.
type Settings struct {
	Endpoints   []string      // base URLs ending in /v1; at least one
	APIKey      string        // sent to them
	Retries     int           // further tries; 0 means 5, negative none
	Backoff     time.Duration // before the first retry, see remote.Retry; 0 means 500 ms
	CallTimeout time.Duration // of one try; 0 means 10 minutes
	Connections int           // to each endpoint at once, at most; 0 means 64
	RateLimit   float64       // requests a second to all endpoints together; 0 means no limit
	// times the best time per token from which an engine gets fewer calls at once; 0 means 10, negative never
	Slowdown    float64
	HealthEvery time.Duration    // between checks of an endpoint that fails, at first; 0 means 1 s
	Log         *slog.Logger     // nil: nothing is logged
	Now         func() time.Time // nil: time.Now
}

type Pool struct {
	opts   Settings
	client *http.Client
	*balance
	rate *rate.Limiter

	mu      sync.Mutex
	refused map[string][]string // by endpoint: added fields that it refuses
}

func NewPool(o Settings) *Pool {
	u := &Pool{opts: o, client: newClient(o.Connections), rate: rate.NewLimiter(rate.Inf, 0), refused: map[string][]string{}}
	if o.RateLimit > 0 {
		u.rate = rate.NewLimiter(rate.Limit(o.RateLimit), max(1, int(o.RateLimit)))
	}
	u.balance = newBalance(&u.opts, u.client)
	return u
}

// Do sends a request to an engine with its key.
func (u *Pool) Do(r *http.Request) (*http.Response, error) {
	remote.Authorize(r, u.opts.APIKey)
	return u.client.Transport.RoundTrip(r) // the client itself would only follow redirects
}

// Close ends the health checks and closes the connections that are not in use.
func (u *Pool) Close() {
	u.balance.close()
	u.client.CloseIdleConnections()
}

// Result is the result of a call: a whole body, or a stream whose first event was read.
type Result struct {
	Status   int
	Header   http.Header
	Body     []byte // of anything but a stream
	Visible  []byte // the part that the agent sees
	Answer   *completion.Answer
	Events   *completion.EventReader // of a stream; its body is open
	Endpoint string
	Tries    int32
	Failure  *completion.Failure // nil when the engine answered
	TopLevel jsontext.Object     // of a stream that is translated: members that not every chunk has
	Ended    bool                // nothing more of the stream is read
}

// refusedError is the error of a try that the engine answered with an error status.
type refusedError struct{ result *Result }

func (e *refusedError) Error() string { return e.result.Failure.Text }

// Call sends a request until it is answered, refused or out of retries. A retry goes to another endpoint, if there is
// one, and so does a request that one refused as it refuses every other: see remote.Mend.
func (u *Pool) Call(ctx context.Context, group string, q *apis.Request, header http.Header) *Result {
	tries := 0
	var at *endpoint
	var last error
	closed := map[*endpoint]bool{} // refuse everybody
	r, err := remote.Retry(ctx, uint(u.opts.Retries+1), u.opts.Backoff, func() (*Result, error) {
		if err := u.rate.Wait(ctx); err != nil {
			return nil, fault.Permanent(err)
		}
		e, err := u.acquire(ctx, group, at)
		if err != nil {
			return nil, fault.Permanent(err)
		}
		at = e
		tries++
		r, err := u.tryAt(ctx, e, q, header)
		if ctx.Err() == nil {
			last = err
		}
		if refused := (*refusedError)(nil); errors.As(err, &refused) && refused.result.Failure.Mend != "" {
			if closed[e] = true; len(closed) < len(u.opts.Endpoints) {
				err = refused // not permanent
			}
		}
		return r, err
	})
	if err != nil {
		r = failedResult(ctx, err, last)
	}
	if r.Tries = int32(tries); at != nil {
		r.Endpoint = at.url
	}
	return r
}

// tryAt sends a request once, and frees the place at the endpoint when the answer has arrived, or its stream has ended.
func (u *Pool) tryAt(ctx context.Context, e *endpoint, q *apis.Request, header http.Header) (*Result, error) {
	began := u.opts.Now()
	r, err := u.try(ctx, e.url, q, header)
	done := func(v verdict, took time.Duration) { u.balance.release(e, v, began, u.opts.Now(), took) }
	switch {
	case err != nil:
		done(verdictOf(ctx, err), 0)
	case r.Events != nil:
		stop := r.Events.Close
		r.Events.Close = sync.OnceFunc(func() {
			stop()
			done(answered, 0)
		})
	default:
		done(answered, u.opts.Now().Sub(began)/time.Duration(max(1, r.Answer.Usage.Completion)))
	}
	return r, err
}

// verdictOf returns what a failed try shows about the endpoint.
func verdictOf(ctx context.Context, err error) verdict {
	var refused *refusedError
	switch {
	case ctx.Err() != nil:
		return neither
	case !errors.As(err, &refused), refused.result.Failure.Mend != "":
		return failing
	case refused.result.Status == http.StatusTooManyRequests || refused.result.Status == http.StatusServiceUnavailable:
		return throttled
	case refused.result.Status >= 500:
		return failing
	}
	return neither
}

// failedResult is the result of a call that ended with err; last is the error of the last try that ended before
// the context: an agent that hung up while the engine was asked again does not hide that it failed.
func failedResult(ctx context.Context, err, last error) *Result {
	var refused *refusedError
	switch {
	case ctx.Err() != nil && last != nil:
		return &Result{Failure: &completion.Failure{Class: outcomes.FailEngine, Text: fmt.Sprintf("%v; %v", last, context.Cause(ctx))}}
	case ctx.Err() != nil:
		return &Result{Failure: &completion.Failure{Class: outcomes.FailCancelled, Text: context.Cause(ctx).Error()}}
	case errors.As(err, &refused):
		return refused.result
	}
	return &Result{Failure: &completion.Failure{Class: outcomes.FailEngine, Text: err.Error()}}
}

// try sends a request once; an error is permanent or may be retried. If a refusal names a field that was added to the
// request, it is sent again without that field. Only if that succeeds has the engine refused the field: an error may
// echo the whole request, whatever it is about.
func (u *Pool) try(ctx context.Context, endpoint string, q *apis.Request, header http.Header) (*Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, u.opts.CallTimeout, remote.LateError(u.opts.CallTimeout))
	var here []string // left out of this request
	for {
		without := slices.Concat(u.without(endpoint), here)
		if q.OnWhole != nil && slices.Contains(without, q.Streamed()) {
			q.OnWhole()
		}
		r, err := u.send(ctx, cancel, endpoint, q, header, without)
		if field := refusedField(q, without, err); field != "" {
			here = append(here, field)
			continue
		}
		if err == nil && len(here) > 0 {
			u.RememberRefused(endpoint, q, here[len(here)-1])
		}
		if err != nil || r.Events == nil {
			cancel()
		}
		return r, err
	}
}

// send makes one HTTP request. A stream takes over cancel.
func (u *Pool) send(ctx context.Context, cancel context.CancelFunc, endpoint string, q *apis.Request, header http.Header,
	without []string) (*Result, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint+q.API.Path, bytes.NewReader(q.Body(without)))
	if err != nil {
		return nil, fault.Permanent(err)
	}
	Forward(req.Header, header)
	req.Header.Set("Content-Type", "application/json")
	resp, err := u.Do(req)
	if err != nil {
		return nil, TransportError(ctx, err)
	}
	return u.read(ctx, cancel, resp, q)
}

// read reads an answer, or the beginning of a stream.
func (u *Pool) read(ctx context.Context, cancel context.CancelFunc, resp *http.Response, q *apis.Request) (*Result, error) {
	if resp.StatusCode/100 == 2 && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") &&
		(!q.API.Translated() || q.StreamTranslated()) {
		return u.openStream(ctx, cancel, resp, q)
	}
	defer resp.Body.Close()
	limit := MaxAnswer
	if resp.StatusCode/100 != 2 {
		limit = maxRefusal
	}
	body, err := ReadAll(*bodies.Get().(*[]byte), resp.Body, resp.ContentLength, limit)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, fault.Permanent(fmt.Errorf("HTTP %d: the answer is larger than %d MiB", resp.StatusCode,
			limit>>20))
	case err != nil:
		return nil, TransportError(ctx, err)
	}
	r := &Result{Status: resp.StatusCode, Header: resp.Header, Body: body, Answer: &completion.Answer{}}
	if resp.StatusCode/100 != 2 {
		return nil, statusError(r)
	}
	return r, r.readBody(q)
}

// readBody reads the answer in a body.
func (r *Result) readBody(q *apis.Request) (err error) {
	see := q.View
	see.Stream = false
	if r.Visible, err = r.Answer.Add(r.Body, see); err != nil {
		return err
	}
	if len(r.Answer.Choices) == 0 && r.Answer.Err == nil {
		return fmt.Errorf("%w: no choices: %s", completion.ErrNotCompletion, completion.Excerpt(r.Body))
	}
	return r.Answer.Err
}

// ReadWhole returns the result of a call that has this whole answer; no engine is asked.
func ReadWhole(q *apis.Request, body []byte) *Result {
	r := &Result{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: body,
		Answer: &completion.Answer{}}
	if err := r.readBody(q); err != nil {
		return &Result{Failure: &completion.Failure{Class: outcomes.FailEngine, Text: err.Error()}}
	}
	return r
}

const (
	MaxAnswer  = 64 << 20 // half a million tokens with logprobs, and more
	maxRefusal = 1 << 20  // an engine's error
)

var errTooLarge = errors.New("too large")

// bodies is memory for answers: one has a few hundred kilobytes, and nothing that is recorded points into it.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// Release frees the body, which must not be used afterwards.
func (r *Result) Release() {
	const maxKept = 4 << 20
	if body := r.Body[:0]; cap(body) > 0 && cap(body) <= maxKept {
		bodies.Put(&body)
	}
	r.Body, r.Visible = nil, nil
}

// ReadAll appends at most limit bytes to b, which is empty, or returns errTooLarge; size is the announced length. It
// allocates at most one and a half times the limit.
func ReadAll(b []byte, r io.Reader, size int64, limit int) ([]byte, error) {
	if size > int64(limit) {
		return nil, errTooLarge
	}
	if size > 0 {
		b = slices.Grow(b, int(min(size, 8<<20))+1)
	}
	for {
		if len(b) == cap(b) {
			b = append(make([]byte, 0, min(max(2*len(b), 8<<10), limit+1)), b...)
		}
		n, err := r.Read(b[len(b):min(cap(b), limit+1)])
		b = b[:len(b)+n]
		switch {
		case len(b) > limit:
			return nil, errTooLarge
		case err == io.EOF:
			return b, nil
		case err != nil:
			return nil, err
		}
	}
}

func (u *Pool) openStream(ctx context.Context, cancel context.CancelFunc, resp *http.Response,
	q *apis.Request) (*Result, error) {
	r := &Result{Status: resp.StatusCode, Header: resp.Header, Answer: &completion.Answer{AcceptNoFinish: q.AcceptNoFinish},
		Events: completion.NewEventReader(resp.Body, func() { cancel(); resp.Body.Close() })}
	if err := r.open(q); err != nil {
		resp.Body.Close()
		return nil, TransportError(ctx, err)
	}
	return r, nil
}

// open reads the first event of a stream. A stream that is translated is read up to
// the first text or call, so that it can still be abandoned.
func (r *Result) open(q *apis.Request) error {
	if q.NeedsLogprobs && strings.HasPrefix(r.Header.Get("Server"), "llama.cpp") {
		return errNoStreamLogprobs // its streams lack the end mark's
	}
	if q.API.Translated() {
		return r.openTranslated(q)
	}
	e, err := r.Events.Peek()
	if err == nil {
		err = e.AddTo(r.Answer, q.View)
	}
	if err != nil {
		return err
	}
	return r.Answer.Err
}

// TransportError removes the URL: rows have a column for the endpoint, and no row's text should depend on its port.
func TransportError(ctx context.Context, err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause // it says more than "context deadline exceeded"
	}
	return err
}

// newClient returns a client that requests no compression, so that answers are forwarded byte for byte, and that has no
// time limit of its own. It follows no redirect: the key and the prompts are for the configured address only.
func newClient(connections int) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableCompression = true
	t.MaxIdleConns = 0
	t.MaxIdleConnsPerHost = connections
	// Answers with logprobs are long, but the buffers of many connections may take no more than 32 MiB together.
	t.ReadBufferSize = min(64<<10, max(2<<10, (16<<20)/connections))
	t.WriteBufferSize = min(4<<10, t.ReadBufferSize)
	return &http.Client{Transport: remote.Uncompressed(t), CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}
