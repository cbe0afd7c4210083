package recorder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
)

// relay forwards a stream as it arrives and records it when it has ended. The agent may have got the status.
func (s *Session) relay(ctx context.Context, w http.ResponseWriter, q *apis.Request, c *call, r *engines.Result, begun bool) {
	defer r.Events.Close()
	if !begun {
		s.headers(w, r.Header)
		w.WriteHeader(r.Status)
	}
	sent := sender{w: w, flush: http.NewResponseController(w).Flush}
	var held []byte
	for {
		e, err := r.Events.Next()
		if err == io.EOF && r.Answer.Finished(q.Choices) {
			break
		}
		if err == nil {
			err = e.AddTo(r.Answer, q.View)
		}
		if err != nil {
			sent.now()
			s.breakOff(ctx, c, r, err)
		}
		if r.Answer.Err != nil {
			r.Failure = &completion.Failure{Class: outcomes.FailEngine, Text: r.Answer.Err.Error()}
			sent.batch = append(sent.batch, secret.From(s.ctx).Redact(string(e.AppendVisible(nil)))...)
			break
		}
		if e.Last() || r.Answer.Finished(q.Choices) {
			held = e.AppendVisible(held)
		} else {
			sent.batch = e.AppendVisible(sent.batch)
		}
		if e.Last() {
			break
		}
		if !r.Events.HasMore() {
			sent.now()
		}
	}
	if r.Failure == nil && !r.Answer.Finished(q.Choices) {
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
func streamFailure(ctx context.Context, err error) *completion.Failure {
	if cause := context.Cause(ctx); cause != nil {
		return &completion.Failure{Class: outcomes.FailCancelled, Text: cause.Error()}
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return &completion.Failure{Class: outcomes.FailEngine, Text: fmt.Sprintf("the stream broke off: %v", err)}
}

// breakOff records a stream that ended too early and drops the agent's
// connection, as the engine dropped the recorder's.
func (s *Session) breakOff(ctx context.Context, c *call, r *engines.Result, err error) {
	r.Failure = streamFailure(ctx, err)
	s.end(c, r)
	panic(http.ErrAbortHandler)
}
