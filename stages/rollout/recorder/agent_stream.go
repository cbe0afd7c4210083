package recorder

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/rollmill/rollmill/formats/apis"
)

// agentStream is an agent's stream whose events are made by this package: that of a translated API, or of an engine
// that is asked for a whole answer. Text and reasoning are sent as they come. Tool calls, and everything from the
// finish reason on, are sent once the call is recorded. While nothing else is sent, it sends pings.
type agentStream struct {
	s *Session
	q *apis.Request

	events apis.EventEncoder
	batch  bytes.Buffer // events that were not sent

	mu    sync.Mutex // of what follows
	w     http.ResponseWriter
	begun bool // the status was sent
	ended bool
	timer *time.Timer
}

func (s *Session) newAgentStream(w http.ResponseWriter, q *apis.Request) *agentStream {
	m := &agentStream{s: s, q: q, w: w}
	m.events = q.API.EncodeEvents(q, &m.batch)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.timer = time.AfterFunc(s.recorder.opts.PingEvery, m.ping)
	if !q.API.Translated() {
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
		io.WriteString(m.w, m.events.State().Ping)
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
