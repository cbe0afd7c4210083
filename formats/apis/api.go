package apis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// All are the APIs that agents speak. To record another, implement translator in
// files that begin with its name, and add it here.
var All = []*API{Chat, Completions, Messages, Responses}

type API struct {
	Name      string // recorded with a call
	Route     string // where agents call it, below /v1
	Path      string // where the engine is asked, below /v1; not route if calls are translated to chat completions
	OwnErrors bool   // an engine's error is written in this API's form
	translator
}

// translator reads the requests of an API and writes its answers. It has no state:
// what a call needs later is in its request.
type translator interface {
	// decode reads the prompt as messages. If the API is translated, it also replaces the request's fields by those of
	// chat completions. The request may name earlier responses that are stored.
	decode(q *Request, s *StoredResponses) error
	// askLogprobs adds the fields that make the engine return logprobs.
	askLogprobs(q *Request)
	// encode returns an answer, or the beginning of one, as the agent sees it. visible is the
	// engine's body without what the agent did not request.
	Encode(q *Request, a *completion.Answer, visible []byte) []byte
	// encodeEvents returns an encoder that writes an answer to w as a stream.
	EncodeEvents(q *Request, w io.Writer) EventEncoder
	// arguments returns the arguments of a sampled tool call as the agent sees them.
	Arguments(q *Request, c *formats.ToolCall) string
}

// Translated reports whether the engine is asked by another API than the agent's.
func (a *API) Translated() bool { return a.Path != a.Route }

var (
	emptyText = []byte(`""`)
	emptyList = []byte("[]")
)

func field(key string, raw []byte) jsontext.Member { return jsontext.Member{Key: key, Raw: raw} }

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("recorder: %T is not JSON", v)) // New checked it
	}
	return b
}

// objectOf returns a value as the JSON object that encode makes of it.
func objectOf(v any) jsontext.Object { return jsontext.ParseObject(encode(v)) }

func array(list [][]byte) []byte {
	return slices.Concat([]byte("["), bytes.Join(list, []byte(",")), []byte("]"))
}

// orEmpty returns a value, or an empty text if there is none.
func orEmpty(raw []byte) []byte {
	if len(raw) == 0 {
		return emptyText
	}
	return raw
}
