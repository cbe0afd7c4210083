package recorder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/secret"
)

// relay forwards a stream as it arrives and records it when it has ended. The agent may have got the status.
func (s *Session) relay(ctx context.Context, w http.ResponseWriter, q *request, c *call, r *result, begun bool) {
	defer r.events.close()
	if !begun {
		s.headers(w, r.header)
		w.WriteHeader(r.status)
	}
	sent := sender{w: w, flush: http.NewResponseController(w).Flush}
	var held []byte
	for {
		e, err := r.events.next()
		if err == io.EOF && r.answer.finished(q.choices) {
			break
		}
		if err == nil {
			err = e.addTo(r.answer, q.view)
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
		s.breakOff(ctx, c, r, errNoFinish)
	}
	s.end(c, r)
	w.Write(append(sent.batch, held...))
}

var errNoFinish = errors.New("no finish reason (--accept-finish null takes answers that end with [DONE] alone)")

// sender collects events that arrived together, which are written at once.
type sender struct {
	w     io.Writer
	flush func() error
	batch []byte
}

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
