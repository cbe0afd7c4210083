package recorder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/secret"
)

// ask answers one request.
func (s *Session) ask(kind *api, w http.ResponseWriter, r *http.Request) {
	body, err := readAll(new(bytes.Buffer), r.Body, r.ContentLength, maxRequest)
	if err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request_error", "reading the request: "+err.Error())
		return
	}
	q, err := parseRequest(kind, body, s.storedMessages)
	if err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	if why := s.admit(); why != "" {
		s.refuse(w, why)
		return
	}
	defer s.leave()
	ctx, cancel := s.callContext(r)
	defer cancel(nil)
	c := s.begin(q, functionOf(r), sessionOf(r.Header))
	if q.streamTranslated() {
		s.translateStream(ctx, w, q, c, r.Header)
		return
	}
	res := s.rec.engines.call(ctx, s.group, q, r.Header)
	switch {
	case res.failure != nil:
		s.end(c, res)
		s.writeFailure(w, q, res)
	case res.events != nil:
		s.relay(ctx, w, q, c, res)
	default:
		s.end(c, res)
		s.writeBody(w, res, kind.encode(q, res))
		res.release()
	}
}

// callContext returns a context that lasts as long as the call is useful: while the
// agent waits for it and the trajectory runs.
func (s *Session) callContext(r *http.Request) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(s.ctx)
	stop := context.AfterFunc(r.Context(), func() { cancel(errHungUp) })
	return ctx, func(cause error) { stop(); cancel(cause) }
}

var errHungUp = errors.New("the agent hung up before the answer came")

func (s *Session) stopIfUnfit() {
	s.mu.Lock()
	unfit := s.unfit
	s.mu.Unlock()
	if unfit != nil {
		s.cancel(unfit)
	}
}

// writeFailure sends the agent the engine's last error, or an error of its own
// if there was none. Secrets that an engine repeats are redacted.
func (s *Session) writeFailure(w http.ResponseWriter, q *request, r *result) {
	known := secret.From(s.ctx)
	if r.body != nil && q.api.ownErrors {
		s.headers(w, r.header)
		writeError(w, r.status, errorKind(r.status), known.Redact(r.refusal()))
		return
	}
	if r.body != nil {
		w.Header().Set("X-Should-Retry", "false")
		s.writeBody(w, r, known.JSON(r.body))
		return
	}
	writeError(w, http.StatusBadGateway, "rollmill_upstream_error", known.Redact(r.failure.Text))
}

// refusal returns the engine's error for Anthropic's clients.
func (r *result) refusal() string {
	text := errorText(r.body)
	if r.failure.TooLong {
		text = "prompt is too long: " + text // clients compact their history when they read this
	}
	return text
}

// headers forwards an engine's headers, without secrets.
func (s *Session) headers(w http.ResponseWriter, from http.Header) {
	if known := secret.From(s.ctx); known.Known() {
		from = from.Clone()
		known.Value(&from)
	}
	forward(w.Header(), from)
}

func (s *Session) writeBody(w http.ResponseWriter, r *result, body []byte) {
	s.headers(w, r.header)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(r.status)
	w.Write(body)
}

// relay forwards a stream as it arrives and records it when it has ended.
func (s *Session) relay(ctx context.Context, w http.ResponseWriter, q *request, c *call, r *result) {
	defer r.events.close()
	s.headers(w, r.header)
	w.WriteHeader(r.status)
	sent := sender{w: w, flush: http.NewResponseController(w).Flush}
	var held []byte
	for {
		e, err := r.events.next()
		if err == io.EOF && r.answer.finished(q.choices) {
			break
		}
		if err == nil {
			err = e.addTo(r.answer, q)
		}
		if err != nil {
			sent.now()
			s.breakOff(ctx, c, r, err)
		}
		if r.answer.err != nil {
			r.failure = &Failure{Class: formats.FailEngine, Text: r.answer.err.Error()}
			sent.batch = append(sent.batch, secret.From(s.ctx).Redact(string(e.appendVisible(nil)))...)
			break
		}
		if e.last() || r.answer.finished(q.choices) {
			held = e.appendVisible(held)
		} else {
			sent.batch = e.appendVisible(sent.batch)
		}
		if e.last() {
			break
		}
		if !r.events.hasMore() {
			sent.now()
		}
	}
	if r.failure == nil && !r.answer.finished(q.choices) {
		sent.now()
		s.breakOff(ctx, c, r, errors.New("no finish reason"))
	}
	s.end(c, r)
	w.Write(append(sent.batch, held...))
}

// sender collects events that arrived together, which are written at once.
type sender struct {
	w     io.Writer
	flush func() error
	batch []byte
}

// now sends what was collected.
func (s *sender) now() {
	if len(s.batch) > 0 {
		s.w.Write(s.batch)
		s.flush()
		s.batch = s.batch[:0]
	}
}

// streamFailure is the failure of a stream that ended too early.
func streamFailure(ctx context.Context, err error) *Failure {
	if cause := context.Cause(ctx); cause != nil {
		return &Failure{Class: formats.FailCancelled, Text: cause.Error()}
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return &Failure{Class: formats.FailEngine, Text: fmt.Sprintf("the stream broke off: %v", err)}
}

// breakOff records a stream that ended too early and drops the agent's
// connection, as the engine dropped the recorder's.
func (s *Session) breakOff(ctx context.Context, c *call, r *result, err error) {
	r.failure = streamFailure(ctx, err)
	s.end(c, r)
	panic(http.ErrAbortHandler)
}

// finished reports whether n choices have a finish reason.
func (a *answer) finished(n int) bool {
	for _, c := range a.choices {
		if c.finish != "" {
			n--
		}
	}
	return n <= 0
}
