package recorder

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/secret"
)

// An agent's stream of the Messages or the Responses API is made of the engine's
// answer in chat completions. Text and reasoning are sent as they come. Tool
// calls, and all that comes from the finish reason on, are sent once the call is
// recorded.

// madeStream is the agent's end of such a stream. While nothing else is sent, it
// sends pings.
type madeStream struct {
	s     *Session
	q     *request
	every time.Duration

	events eventEncoder
	batch  bytes.Buffer // events that were not sent

	mu    sync.Mutex // of what follows
	w     http.ResponseWriter
	begun bool // the status was sent
	ended bool
	timer *time.Timer
}

func (s *Session) newMadeStream(w http.ResponseWriter, q *request) *madeStream {
	m := &madeStream{s: s, q: q, every: s.rec.opts.PingEvery, w: w}
	m.events = q.api.encodeEvents(q, &m.batch)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.timer = time.AfterFunc(m.every, m.ping)
	return m
}

// begin sends the status. The headers are the engine's, or nil.
func (m *madeStream) begin(header http.Header) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.head(header)
	m.flush()
}

func (m *madeStream) head(header http.Header) {
	if m.begun {
		return
	}
	m.begun = true
	m.s.headers(m.w, header)
	m.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	m.w.Header().Set("Cache-Control", "no-cache")
	m.w.WriteHeader(http.StatusOK)
}

func (m *madeStream) flush() {
	_ = http.NewResponseController(m.w).Flush()
	if !m.ended {
		m.timer.Reset(m.every)
	}
}

func (m *madeStream) ping() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.ended {
		m.head(nil)
		io.WriteString(m.w, m.events.state().ping)
		m.flush()
	}
}

// send sends the events that were written.
func (m *madeStream) send(header http.Header) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.head(header)
	if m.batch.Len() > 0 {
		m.w.Write(m.batch.Bytes())
		m.batch.Reset()
		m.flush()
	}
}

// end stops the pings, and reports whether the agent has a status.
func (m *madeStream) end() (begun bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	m.timer.Stop()
	return m.begun
}

// makeStream answers a call of an agent that streams another API than the
// engine's.
func (s *Session) makeStream(ctx context.Context, w http.ResponseWriter, q *request, c *call, header http.Header) {
	m := s.newMadeStream(w, q)
	defer m.end()
	q.accepted = m.begin
	r := s.rec.up.call(ctx, s.group, q, header)
	var shown *choice
	if r.failure == nil && r.events != nil {
		shown = m.follow(ctx, r)
	}
	s.end(c, r)
	if r.failure != nil {
		m.fail(r)
		return
	}
	if i := slices.Index(r.answer.choices, shown); i > 0 {
		r.answer.choices[0], r.answer.choices[i] = shown, r.answer.choices[0]
	}
	if r.events != nil && q.needs && lacking(r.answer.unfit) {
		s.rec.up.learn(r.endpoint, q, q.streamed())
	}
	m.events.end(r.shown(q))
	m.send(r.header)
	r.release()
}

// shown returns what the agent sees of an answer, or of the beginning of one.
func (r *reply) shown(q *request) jsontext.Object {
	if r.events != nil {
		r.seen = r.top.Bytes()
	}
	return jsontext.ParseObject(q.api.encode(q, r))
}

// follow sends the agent what the engine's stream has, up to the finish reason,
// and returns the choice that it saw. If the stream fails, r has the failure.
func (m *madeStream) follow(ctx context.Context, r *reply) *choice {
	defer r.events.close()
	var shown *choice
	for {
		if shown == nil && len(r.answer.choices) > 0 {
			shown = r.answer.choices[0]
		}
		if r.ended {
			break
		}
		if shown != nil && !r.answer.finished(1) {
			m.show(r, shown)
			if !r.events.more() {
				m.send(r.header)
			}
		}
		if err := r.readEvent(m.q); err != nil {
			r.failure = brokenOff(ctx, err)
			break
		}
		if r.answer.err != nil {
			r.failure = &Failure{Class: formats.FailEngine, Text: r.answer.err.Error()}
			break
		}
	}
	if r.failure == nil && !r.answer.finished(1) {
		r.failure = brokenOff(ctx, errors.New("no finish reason"))
	}
	if shown != nil {
		r.pieces.read(shown)
	}
	return shown
}

// show writes the text that came since the last time.
func (m *madeStream) show(r *reply, c *choice) {
	w := m.events.state()
	r.pieces.read(c)
	if len(r.pieces.list) == 0 {
		return
	}
	if !w.begun {
		m.events.begin(r.shown(m.q))
	}
	for i := w.done; i < len(r.pieces.list); i++ {
		at := r.pieces.list[i]
		all := c.text.content.String()
		if at.reasoning {
			all = c.text.reasoning.String()
		}
		if whole := (piece{at.reasoning, all[at.from:at.to]}); i < len(r.pieces.list)-1 {
			m.events.block(whole)
		} else if whole.text = whole.text[w.shown:]; whole.text != "" {
			m.events.piece(whole)
		}
	}
}

// fail sends the agent the failure of a call, as an event if it has a status.
func (m *madeStream) fail(r *reply) {
	if !m.end() {
		m.s.writeFailure(m.w, m.q, r)
		return
	}
	kind, text := "api_error", r.failure.Text
	if r.body != nil {
		kind, text = errorKind(r.status), r.refusal()
	}
	m.events.fail(kind, secret.From(m.s.ctx).Redact(text))
	m.send(nil)
}
