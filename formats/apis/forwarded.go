package apis

import (
	"io"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// forwarded is the part of a translator that an API of engines has: agents see what
// the engine sent, without what they did not request.
type forwarded struct{}

func (forwarded) Encode(_ *Request, _ *completion.Answer, visible []byte) []byte { return visible }

// EncodeEvents is for whole answers alone: the engine's own events are the agent's.
func (forwarded) EncodeEvents(q *Request, w io.Writer) EventEncoder {
	return &forwardedEvents{EventWriter{to: w, Ping: ": ping\n\n"}, q.View.Usage}
}

type forwardedEvents struct {
	EventWriter
	usage bool
}

func (w *forwardedEvents) Begin(jsontext.Object)        {}
func (w *forwardedEvents) WriteText(completion.Segment) {}
func (w *forwardedEvents) CloseText(completion.Segment) {}

func (w *forwardedEvents) End(o jsontext.Object) { w.to.Write(events(o, w.usage)) }

func (w *forwardedEvents) Fail(kind, text string) {
	w.to.Write(dataEvent(jsontext.Object{field("error", encode(map[string]string{"type": kind, "message": text}))}))
}

func (forwarded) Arguments(_ *Request, c *formats.ToolCall) string { return c.Arguments }

// events returns a whole answer as a stream of one chunk with the text, one with the finish
// reason and, if it is wanted, one with the usage.
func events(whole jsontext.Object, usage bool) (out []byte) {
	add := func(key string, value []byte) {
		o := slices.Clone(whole)
		o.Set("choices", emptyList)
		o.Drop("usage")
		o.Set(key, value)
		if string(whole.Get("object")) != `"text_completion"` {
			o.Set("object", []byte(`"chat.completion.chunk"`))
		}
		out = append(out, dataEvent(o)...)
	}
	var texts, ends [][]byte
	for raw := range jsontext.Elements(whole.Get("choices")) {
		c := jsontext.ParseObject(raw)
		end := jsontext.Object{field("index", c.Get("index")), field("finish_reason", c.Get("finish_reason"))}
		if m := c.Get("message"); m != nil {
			c.Set("delta", numbered(m))
			c.Drop("message")
			end.Set("delta", []byte("{}"))
		} else {
			end.Set("text", emptyText)
		}
		ends = append(ends, end.Bytes())
		c.Set("finish_reason", []byte("null"))
		texts = append(texts, c.Bytes())
	}
	add("choices", array(texts))
	add("choices", array(ends))
	if usage && whole.Has("usage") {
		add("usage", whole.Get("usage"))
	}
	return append(out, "data: [DONE]\n\n"...)
}

// numbered gives a message's tool calls their indexes, as a stream has them.
func numbered(raw []byte) []byte {
	m := jsontext.ParseObject(raw)
	var calls [][]byte
	for call := range jsontext.Elements(m.Get("tool_calls")) {
		c := jsontext.ParseObject(call)
		c.Set("index", encode(len(calls)))
		calls = append(calls, c.Bytes())
	}
	if calls != nil {
		m.Set("tool_calls", array(calls))
	}
	return m.Bytes()
}
