package recorder

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/secret"
)

// agentStream is an agent's stream whose events are made by this package: that of a translated
// API, or of an engine that is asked for a whole answer. Text and reasoning are sent as they come. Tool calls, and
// everything from the finish reason on, are sent once the call is recorded. While
// nothing else is sent, it sends pings.
type agentStream struct {
	s *Session
	q *request

	events eventEncoder
	batch  bytes.Buffer // events that were not sent

	mu    sync.Mutex // of what follows
	w     http.ResponseWriter
	begun bool // the status was sent
	ended bool
	timer *time.Timer
}

func (s *Session) newAgentStream(w http.ResponseWriter, q *request) *agentStream {
	m := &agentStream{s: s, q: q, w: w}
	m.events = q.api.encodeEvents(q, &m.batch)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.timer = time.AfterFunc(s.recorder.opts.PingEvery, m.ping)
	if !q.api.translated() {
		m.timer.Stop() // the engine's own events are forwarded
	}
	return m
}

// begin sends the status. The headers are the engine's, or nil.
func (m *agentStream) begin(header http.Header) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.head(header)
	m.flush()
}

func (m *agentStream) head(header http.Header) {
	if m.begun {
		return
	}
	m.begun = true
	m.s.headers(m.w, header)
	m.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	m.w.Header().Set("Cache-Control", "no-cache")
	m.w.WriteHeader(http.StatusOK)
}

func (m *agentStream) flush() {
	_ = http.NewResponseController(m.w).Flush()
	if !m.ended {
		m.timer.Reset(m.s.recorder.opts.PingEvery)
	}
}

func (m *agentStream) ping() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.ended {
		m.head(nil)
		io.WriteString(m.w, m.events.state().ping)
		m.flush()
	}
}

func (m *agentStream) send(header http.Header) {
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
func (m *agentStream) end() (begun bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	m.timer.Stop()
	return m.begun
}

// pingFromNow is called when an engine is asked for a whole answer.
func (m *agentStream) pingFromNow() { m.timer.Reset(m.s.recorder.opts.PingEvery) }

// stream answers a call of an agent that streams.
func (s *Session) stream(ctx context.Context, w http.ResponseWriter, q *request, c *call, header http.Header) {
	m := s.newAgentStream(w, q)
	defer m.end()
	q.onAccepted, q.onWhole = m.begin, m.pingFromNow
	r := s.answer(ctx, c, header)
	if r.failure == nil && r.events != nil && !q.api.translated() {
		s.relay(ctx, w, q, c, r, m.end())
		return
	}
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
	o := encoded(q, r)
	s.responses.store(q, r.answer, o.Bytes())
	m.events.end(o)
	m.send(r.header)
	r.release()
}

// encoded returns what the agent sees of an answer, or of the beginning of one.
func encoded(q *request, r *result) jsontext.Object {
	visible := r.visible
	if r.events != nil {
		visible = r.topLevel.Bytes()
	}
	return jsontext.ParseObject(q.api.encode(q, r.answer, visible))
}

// follow sends the agent what the engine's stream has, up to the finish reason,
// and returns the choice that it saw. If the stream fails, r has the failure.
func (m *agentStream) follow(ctx context.Context, r *result) *choice {
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
			if !r.events.hasMore() {
				m.send(r.header)
			}
		}
		if err := r.readEvent(m.q); err != nil {
			r.failure = streamFailure(ctx, err)
			break
		}
		if r.answer.err != nil {
			r.failure = &Failure{Class: formats.FailEngine, Text: r.answer.err.Error()}
			break
		}
	}
	if r.failure == nil && !r.answer.finished(1) {
		r.failure = streamFailure(ctx, errNoFinish)
	}
	if shown != nil {
		r.answer.segments.read(shown)
	}
	return shown
}

// show writes the text that came since the last time.
func (m *agentStream) show(r *result, c *choice) {
	w := m.events.state()
	r.answer.segments.read(c)
	if len(r.answer.segments.list) == 0 {
		return
	}
	if !w.begun {
		m.events.begin(encoded(m.q, r))
	}
	for i := w.done; i < len(r.answer.segments.list); i++ {
		at := r.answer.segments.list[i]
		all := c.streamed.content.String()
		if at.reasoning {
			all = c.streamed.reasoning.String()
		}
		if whole := (segment{at.reasoning, all[at.from:at.to]}); i < len(r.answer.segments.list)-1 {
			m.events.closeText(whole)
		} else if whole.text = whole.text[w.shown:]; whole.text != "" {
			m.events.writeText(whole)
		}
	}
}

// fail sends the agent the failure of a call, as an event if it has a status.
func (m *agentStream) fail(r *result) {
	if !m.end() {
		m.s.writeFailure(m.w, m.q, r)
		return
	}
	kind, text := "api_error", r.failure.Text
	if r.body != nil {
		kind, text = errorKind(r.status), refusal(r)
	}
	m.events.fail(kind, secret.From(m.s.ctx).Redact(text))
	m.send(nil)
}
