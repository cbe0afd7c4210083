package recorder

import (
	"io"

	"github.com/rollmill/rollmill/formats"
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
	// replaces the request's fields by those of chat completions. The request may
	// name earlier responses that are stored.
	decode(q *request, s *storedResponses) error
	// askLogprobs adds the fields that make the engine return logprobs.
	askLogprobs(q *request)
	// encode returns an answer, or the beginning of one, as the agent sees it. visible is the
	// engine's body without what the agent did not request.
	encode(q *request, a *answer, visible []byte) []byte
	// encodeEvents returns an encoder that writes an answer to w as a stream.
	encodeEvents(q *request, w io.Writer) eventEncoder
	// arguments returns the arguments of a sampled tool call as the agent sees them.
	arguments(q *request, c *formats.ToolCall) string
}

// translated reports whether the engine is asked by another API than the agent's.
func (a *api) translated() bool { return a.path != a.route }
