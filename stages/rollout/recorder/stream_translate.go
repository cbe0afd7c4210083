package recorder

import (
	"context"
	"net/http"
	"slices"

	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
)

// stream answers a call of an agent that streams.
func (s *Session) stream(ctx context.Context, w http.ResponseWriter, q *apis.Request, c *call, header http.Header) {
	m := s.newAgentStream(w, q)
	defer m.end()
	q.OnAccepted, q.OnWhole = m.begin, func() { m.timer.Reset(s.recorder.opts.PingEvery) }
	r := s.answer(ctx, c, header)
	if r.Failure == nil && r.Events != nil && !q.API.Translated() {
		s.relay(ctx, w, q, c, r, m.end())
		return
	}
	var shown *completion.Choice
	if r.Failure == nil && r.Events != nil {
		shown = m.follow(ctx, r)
	}
	s.end(c, r)
	if r.Failure != nil {
		m.fail(r)
		return
	}
	if i := slices.Index(r.Answer.Choices, shown); i > 0 {
		r.Answer.Choices[0], r.Answer.Choices[i] = shown, r.Answer.Choices[0]
	}
	o := encoded(q, r)
	s.responses.Store(q, r.Answer, o.Bytes())
	m.events.End(o)
	m.send(r.Header)
	r.Release()
}

// encoded returns what the agent sees of an answer, or of the beginning of one.
func encoded(q *apis.Request, r *engines.Result) jsontext.Object {
	visible := r.Visible
	if r.Events != nil {
		visible = r.TopLevel.Bytes()
	}
	return jsontext.ParseObject(q.API.Encode(q, r.Answer, visible))
}

// follow sends the agent what the engine's stream has, up to the finish reason,
// and returns the choice that it saw. If the stream fails, r has the failure.
func (m *agentStream) follow(ctx context.Context, r *engines.Result) *completion.Choice {
	defer r.Events.Close()
	var shown *completion.Choice
	for {
		if shown == nil && len(r.Answer.Choices) > 0 {
			shown = r.Answer.Choices[0]
		}
		if r.Ended {
			break
		}
		if shown != nil && !r.Answer.Finished(1) {
			m.show(r, shown)
			if !r.Events.HasMore() {
				m.send(r.Header)
			}
		}
		if err := r.ReadEvent(m.q); err != nil {
			r.Failure = streamFailure(ctx, err)
			break
		}
		if r.Answer.Err != nil {
			r.Failure = &completion.Failure{Class: outcomes.FailEngine, Text: r.Answer.Err.Error()}
			break
		}
	}
	if r.Failure == nil && !r.Answer.Finished(1) {
		r.Failure = streamFailure(ctx, errNoFinish)
	}
	if shown != nil {
		r.Answer.ReadSegments(shown)
	}
	return shown
}

// show writes the text that came since the last time.
func (m *agentStream) show(r *engines.Result, c *completion.Choice) {
	w := m.events.State()
	segments := r.Answer.ReadSegments(c)
	if len(segments) == 0 {
		return
	}
	if !w.Begun {
		m.events.Begin(encoded(m.q, r))
	}
	for i := w.Done; i < len(segments); i++ {
		if whole := segments[i]; i < len(segments)-1 {
			m.events.CloseText(whole)
		} else if whole.Text = whole.Text[w.Shown:]; whole.Text != "" {
			m.events.WriteText(whole)
		}
	}
}

// fail sends the agent the failure of a call, as an event if it has a status.
func (m *agentStream) fail(r *engines.Result) {
	if !m.end() {
		m.s.writeFailure(m.w, m.q, r)
		return
	}
	kind, text := "api_error", r.Failure.Text
	if r.Body != nil {
		kind, text = apis.ErrorKind(r.Status), refusal(r)
	}
	m.events.Fail(kind, secret.From(m.s.ctx).Redact(text))
	m.send(nil)
}
