package recorder

import (
	"io"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// apis are the APIs that agents speak. To record another, implement translator in
// files that begin with its name, and add it here.
var apis = []*api{chatAPI, completionsAPI, messagesAPI, responsesAPI}

type api struct {
	name      string // recorded with a call
	route     string // where agents call it, below /v1
	path      string // where the engine is asked, below /v1; not route if calls are translated to chat completions
	ownErrors bool   // an engine's error is written in this API's form
	translator
}

// translator reads the requests of an API and writes its answers. It has no state:
// what a call needs later is in its request.
type translator interface {
	// decode reads the prompt as messages. If the API is translated, it also
	// replaces the request's fields by those of chat completions. The session has
	// the earlier answers that the request may name.
	decode(q *request, s *Session) error
	// askLogprobs adds the fields that make the engine return logprobs.
	askLogprobs(q *request)
	// encode returns an answer, or the beginning of one, as the agent sees it.
	encode(q *request, r *result) []byte
	// encodeEvents returns an encoder that writes an answer to w as a stream.
	encodeEvents(q *request, w io.Writer) eventEncoder
	// arguments returns the arguments of a sampled tool call as the agent sees them.
	arguments(q *request, c *formats.ToolCall) string
}

// translated reports whether the engine is asked by another API than the agent's.
func (a *api) translated() bool { return a.path != a.route }

// forwarded is the part of a translator that an API of engines has: agents see what
// the engine sent, without what they did not request.
type forwarded struct{}

func (forwarded) encode(_ *request, r *result) []byte { return r.visible }

// encodeEvents is for whole answers alone: the engine's own events are the agent's.
func (forwarded) encodeEvents(q *request, w io.Writer) eventEncoder {
	return &forwardedEvents{eventWriter{to: w, ping: ": ping\n\n"}, q.view.usage}
}

type forwardedEvents struct {
	eventWriter
	usage bool
}

func (w *forwardedEvents) begin(jsontext.Object) {}
func (w *forwardedEvents) writeText(segment)     {}
func (w *forwardedEvents) closeText(segment)     {}

func (w *forwardedEvents) end(o jsontext.Object) { w.to.Write(events(o, w.usage)) }

func (w *forwardedEvents) fail(kind, text string) {
	w.to.Write(dataEvent(jsontext.Object{field("error", encode(map[string]string{"type": kind, "message": text}))}))
}

func (forwarded) arguments(_ *request, c *formats.ToolCall) string { return c.Arguments }

// chatLogprobs is the part of a translator that an API has whose engine is asked as
// chat completions.
type chatLogprobs struct{}

func (chatLogprobs) askLogprobs(q *request) {
	q.fields.Set("logprobs", []byte("true"))
	if string(q.fields.Get("top_logprobs")) == "0" {
		q.fields.Drop("top_logprobs") // the default; llama-server reads a 0 as no logprobs at all
	}
}
