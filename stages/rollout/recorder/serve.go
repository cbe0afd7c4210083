package recorder

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages/internal/remote"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
)

// ask answers one request.
func (s *Session) ask(kind *apis.API, w http.ResponseWriter, r *http.Request) {
	body, ok := readRequest(w, r)
	if !ok {
		return
	}
	q, err := apis.ParseRequest(kind, body, &s.responses)
	if err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	if why := s.admit(); why != "" {
		writeError(w, http.StatusForbidden, "trajectory_limit", why)
		s.leave(0)
		return
	}
	defer s.leave(1)
	ctx, cancel := s.callContext(r)
	defer cancel(nil)
	if r.Header.Get(ResumeHeader) == "off" {
		s.mu.Lock()
		s.once = true
		s.mu.Unlock()
	}
	c := s.begin(q, takeFunction(r), sessionOf(r.Header))
	c.ctx = ctx
	if q.Stream {
		s.stream(ctx, w, q, c, r.Header)
		return
	}
	res := s.answer(ctx, c, r.Header)
	switch {
	case res.Failure != nil:
		s.end(c, res)
		s.writeFailure(w, q, res)
	case res.Events != nil:
		s.relay(ctx, w, q, c, res, false)
	default:
		s.end(c, res)
		out := kind.Encode(q, res.Answer, res.Visible)
		s.responses.Store(q, res.Answer, out)
		s.writeBody(w, res, out)
		res.Release()
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
	defer s.mu.Unlock()
	if s.record.Untrainable != nil {
		s.cancel(s.record.Untrainable)
	}
}

// writeFailure sends the agent the engine's last error, or an error of its own
// if there was none. Secrets that an engine repeats are redacted.
func (s *Session) writeFailure(w http.ResponseWriter, q *apis.Request, r *engines.Result) {
	known := secret.From(s.ctx)
	if r.Body != nil && q.API.OwnErrors {
		s.headers(w, r.Header)
		writeError(w, r.Status, apis.ErrorKind(r.Status), known.Redact(refusal(r)))
		return
	}
	if r.Body != nil {
		w.Header().Set("X-Should-Retry", "false")
		s.writeBody(w, r, known.JSON(r.Body))
		return
	}
	writeError(w, http.StatusBadGateway, "rollmill_upstream_error", known.Redact(r.Failure.Text))
}

// refusal returns the engine's error for Anthropic's clients.
func refusal(r *engines.Result) string {
	text := completion.ErrorText(r.Body)
	if r.Failure.TooLong {
		text = "prompt is too long: " + text // clients compact their history when they read this
	}
	return text
}

// headers forwards an engine's headers, without secrets.
func (s *Session) headers(w http.ResponseWriter, from http.Header) {
	if known := secret.From(s.ctx); known.Known() {
		known.Value(&from)
	}
	engines.Forward(w.Header(), from)
}

func (s *Session) writeBody(w http.ResponseWriter, r *engines.Result, body []byte) {
	s.headers(w, r.Header)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(r.Status)
	w.Write(body)
}

// readRequest returns the content of an agent's request; if it cannot, it answers the agent and returns false.
func readRequest(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	content, err := remote.Decompress(r.Header.Get("Content-Encoding"), r.Body)
	if err != nil {
		writeError(w, http.StatusUnsupportedMediaType, "invalid_request_error", "reading the request: "+err.Error())
		return nil, false
	}
	size := r.ContentLength
	if content != r.Body {
		size = -1
	}
	if body, err = engines.ReadAll(nil, content, size, maxRequest); err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request_error", "reading the request: "+err.Error())
		return nil, false
	}
	return body, true
}

const maxRequest = 256 << 20 // with images in it
