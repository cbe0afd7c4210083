package apis

import (
	"bytes"
	"io"
	"slices"

	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// responsesEvents writes a response as the events of OpenAI's API.
type responsesEvents struct {
	EventWriter
	q  *Request
	n  int             // events so far, which are numbered
	id jsontext.Member // of an open item
}

func (responsesTranslator) EncodeEvents(q *Request, w io.Writer) EventEncoder {
	return &responsesEvents{EventWriter: EventWriter{to: w, Ping: ": ping\n\n"}, q: q}
}

func (w *responsesEvents) writeNumbered(kind string, fields ...jsontext.Member) {
	w.n++
	w.write(kind, append(jsontext.Object{field("sequence_number", encode(w.n-1))}, fields...))
}

func (w *responsesEvents) Begin(o jsontext.Object) {
	if w.Begun {
		return
	}
	w.Begun = true
	null := []byte("null")
	begun := o.With("status", encode("in_progress")).With("output", emptyList).
		With("usage", null).With("incomplete_details", null)
	w.writeNumbered("response.created", field("response", begun.Bytes()))
	w.writeNumbered("response.in_progress", field("response", begun.Bytes()))
}

func (w *responsesEvents) End(o jsontext.Object) {
	w.Begin(o)
	for i, raw := range slices.Collect(jsontext.Elements(o.Get("output"))) {
		if i >= w.Done {
			w.itemEvents(i, jsontext.ParseObject(raw))
		}
	}
	kind := "completed"
	if jsontext.Unquote(o.Get("status")) == "incomplete" {
		kind = "incomplete"
	}
	w.writeNumbered("response."+kind, field("response", o.Bytes()))
}

// itemEvents writes the events of one item of the output, or those that are left.
func (w *responsesEvents) itemEvents(index int, o jsontext.Object) {
	at, id := field("output_index", encode(index)), field("item_id", orEmpty(o.Get("id")))
	if !w.open {
		w.beginItem(at, o)
	}
	for i, raw := range slices.Collect(jsontext.Elements(o.Get("content"))) {
		w.partEvents(id, at, field("content_index", encode(i)), jsontext.ParseObject(raw))
		w.open, w.Shown = false, 0 // only the first part can have begun
	}
	switch jsontext.Unquote(o.Get("type")) {
	case "function_call":
		w.textEvents("response.function_call_arguments", "arguments", o, id, at)
	case "custom_tool_call":
		w.textEvents("response.custom_tool_call_input", "input", o, id, at)
	}
	w.writeNumbered("response.output_item.done", at, field("item", o.Bytes()))
	w.closeBlock()
}

func (w *responsesEvents) CloseText(p completion.Segment) { w.itemEvents(w.Done, w.itemOf(p)) }

// itemOf returns a text or reasoning as the item that it becomes. Texts and reasoning
// take turns, so half of the items before it are of its kind.
func (w *responsesEvents) itemOf(p completion.Segment) jsontext.Object {
	k := w.Done / 2
	if p.Reasoning {
		return objectOf(w.q.reasoningItem(p.Text, k))
	}
	return objectOf(w.q.messageItem(k, outputText(p.Text)))
}

func (w *responsesEvents) beginItem(at jsontext.Member, o jsontext.Object) {
	begun := o.With("status", encode("in_progress")).With("content", emptyList).With("summary", emptyList).
		With("arguments", emptyText).With("input", emptyText)
	w.writeNumbered("response.output_item.added", at, field("item", begun.Bytes()))
}

func (w *responsesEvents) WriteText(p completion.Segment) {
	at, index := field("output_index", encode(w.Done)), field("content_index", encode(0))
	if !w.open {
		o := w.itemOf(p)
		w.id = field("item_id", orEmpty(o.Get("id")))
		w.beginItem(at, o)
		for raw := range jsontext.Elements(o.Get("content")) {
			w.beginPart(w.id, at, index, jsontext.ParseObject(raw))
		}
		w.open = true
	}
	if delta := field("delta", encode(p.Text)); p.Reasoning {
		w.writeNumbered("response.reasoning_text.delta", w.id, at, index, delta)
	} else {
		w.writeNumbered("response.output_text.delta", w.id, at, index, field("logprobs", emptyList), delta)
	}
	w.Shown += len(p.Text)
}

// Fail writes the error of a response that has begun: as the event that OpenAI's
// clients raise, and as the response's end.
func (w *responsesEvents) Fail(kind, text string) {
	said := jsontext.Object{field("code", encode(kind)), field("message", encode(text))}
	w.writeNumbered("error", append(slices.Clone(said), field("param", []byte("null")), field("error", said.Bytes()))...)
	o := jsontext.Object{field("id", encode(w.q.ID)), field("object", encode("response")),
		field("status", encode("failed")), field("model", encode(w.q.Model)), field("output", emptyList),
		field("error", said.Bytes())}
	w.writeNumbered("response.failed", field("response", o.Bytes()))
}

// textEvents writes the delta and the end of the text at key.
func (w *responsesEvents) textEvents(kind, key string, o jsontext.Object, where ...jsontext.Member) {
	text := orEmpty(o.Get(key))
	if rest := w.rest(text); !bytes.Equal(rest, emptyText) {
		w.writeNumbered(kind+".delta", append(slices.Clone(where), field("delta", rest))...)
	}
	done := append(slices.Clone(where), field(key, text))
	if key == "arguments" {
		done = append(done, field("name", orEmpty(o.Get("name"))))
	}
	w.writeNumbered(kind+".done", done...)
}

// partEvents writes the events of a part of a message, or of a reasoning item.
func (w *responsesEvents) partEvents(id, at, index jsontext.Member, o jsontext.Object) {
	if !w.open {
		w.beginPart(id, at, index, o)
	}
	switch kind := jsontext.Unquote(o.Get("type")); kind {
	case "output_text":
		w.textEvents("response.output_text", "text", o, id, at, index, field("logprobs", o.Get("logprobs")))
	case "reasoning_text":
		w.textEvents("response.reasoning_text", "text", o, id, at, index)
	case "refusal":
		w.textEvents("response.refusal", "refusal", o, id, at, index)
	}
	w.writeNumbered("response.content_part.done", id, at, index, field("part", o.Bytes()))
}

func (w *responsesEvents) beginPart(id, at, index jsontext.Member, o jsontext.Object) {
	begun := o.With("logprobs", emptyList).With("annotations", emptyList).With("text", emptyText).With("refusal", emptyText)
	w.writeNumbered("response.content_part.added", id, at, index, field("part", begun.Bytes()))
}
