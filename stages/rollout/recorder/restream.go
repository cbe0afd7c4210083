package recorder

import (
	"bytes"
	"io"
	"net/http"
	"slices"

	"github.com/rollmill/rollmill/formats/jsonscan"
)

// writeEvents sends the agent a whole response as the stream that it requested.
func (s *Session) writeEvents(w http.ResponseWriter, q *request, r *reply) {
	s.headers(w, r.header)
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(r.status)
	q.api.events(&eventWriter{to: w}, jsonscan.ParseObject(r.seen))
}

// eventWriter writes a response as the events of OpenAI's API, or a message as
// those of Anthropic's, in their order. A text, or a call's arguments, is one
// delta.
type eventWriter struct {
	to io.Writer
	n  int // of OpenAI's events so far, which are numbered
}

func field(key string, raw []byte) jsonscan.Member { return jsonscan.Member{Key: key, Raw: raw} }

func (w *eventWriter) put(kind string, fields ...jsonscan.Member) {
	w.n++
	w.write(kind, append(jsonscan.Object{field("sequence_number", encode(w.n-1))}, fields...))
}

// write writes an event, whose data repeats its kind.
func (w *eventWriter) write(kind string, o jsonscan.Object) {
	data := append(jsonscan.Object{field("type", encode(kind))}, o...).Bytes()
	for i, c := range data {
		if c == '\n' || c == '\r' { // between two values: in a string it would be escaped
			data[i] = ' '
		}
	}
	io.WriteString(w.to, "event: "+kind+"\ndata: ")
	w.to.Write(append(data, "\n\n"...))
}

var (
	emptyText = []byte(`""`)
	emptyList = []byte("[]")
)

func (w *eventWriter) response(o jsonscan.Object) {
	begun := o.With("status", encode("in_progress")).With("output", emptyList)
	begun.Drop("output_text")
	for _, key := range []string{"usage", "incomplete_details", "completed_at", "input_messages", "output_messages"} {
		begun = begun.With(key, []byte("null"))
	}
	w.put("response.created", field("response", begun.Bytes()))
	w.put("response.in_progress", field("response", begun.Bytes()))
	i := 0
	for raw := range jsonscan.Elements(o.Get("output")) {
		w.item(i, jsonscan.ParseObject(raw))
		i++
	}
	kind := "completed"
	switch status := jsonscan.Unquote(o.Get("status")); status {
	case "incomplete", "failed", "queued", "in_progress":
		kind = status
	case "cancelled":
		kind = "failed"
	}
	w.put("response."+kind, field("response", o.Bytes()))
}

// item writes the events of one item of the output.
func (w *eventWriter) item(index int, o jsonscan.Object) {
	at := field("output_index", encode(index))
	id := field("item_id", emptyText)
	if v := o.Get("id"); v != nil {
		id.Raw = v
	}
	begun := o.With("status", encode("in_progress"))
	for _, key := range []string{"content", "summary"} {
		begun = begun.With(key, emptyList)
	}
	for _, key := range []string{"arguments", "input"} {
		begun = begun.With(key, emptyText)
	}
	w.put("response.output_item.added", at, field("item", begun.Bytes()))
	i := 0
	for raw := range jsonscan.Elements(o.Get("summary")) {
		w.summary(id, at, field("summary_index", encode(i)), jsonscan.ParseObject(raw))
		i++
	}
	i = 0
	for raw := range jsonscan.Elements(o.Get("content")) {
		w.part(id, at, field("content_index", encode(i)), jsonscan.ParseObject(raw))
		i++
	}
	switch jsonscan.Unquote(o.Get("type")) {
	case "function_call":
		w.text("response.function_call_arguments", "arguments", o, field("name", orEmpty(o.Get("name"))), id, at)
	case "custom_tool_call":
		w.text("response.custom_tool_call_input", "input", o, jsonscan.Member{}, id, at)
	}
	w.put("response.output_item.done", at, field("item", o.Bytes()))
}

// text writes the delta and the end of the text at key. more, unless it is
// empty, is a further field of the end.
func (w *eventWriter) text(kind, key string, o jsonscan.Object, more jsonscan.Member, where ...jsonscan.Member) {
	text := orEmpty(o.Get(key))
	if !bytes.Equal(text, emptyText) {
		w.put(kind+".delta", append(slices.Clone(where), field("delta", text))...)
	}
	done := append(slices.Clone(where), field(key, text))
	if more.Key != "" {
		done = append(done, more)
	}
	w.put(kind+".done", done...)
}

// part writes the events of a part of a message, or of a reasoning item.
func (w *eventWriter) part(id, at, index jsonscan.Member, o jsonscan.Object) {
	begun := o.With("logprobs", emptyList).With("annotations", emptyList).With("text", emptyText).With("refusal", emptyText)
	w.put("response.content_part.added", id, at, index, field("part", begun.Bytes()))
	switch kind := jsonscan.Unquote(o.Get("type")); kind {
	case "output_text":
		logprobs := field("logprobs", emptyList)
		if o.Has("logprobs") {
			logprobs.Raw = o.Get("logprobs")
		}
		w.text("response.output_text", "text", o, jsonscan.Member{}, id, at, index, logprobs)
	case "reasoning_text":
		w.text("response.reasoning_text", "text", o, jsonscan.Member{}, id, at, index)
	case "refusal":
		w.text("response.refusal", "refusal", o, jsonscan.Member{}, id, at, index)
	}
	w.put("response.content_part.done", id, at, index, field("part", o.Bytes()))
}

func (w *eventWriter) summary(id, at, index jsonscan.Member, o jsonscan.Object) {
	w.put("response.reasoning_summary_part.added", id, at, index, field("part", o.With("text", emptyText).Bytes()))
	w.text("response.reasoning_summary_text", "text", o, jsonscan.Member{}, id, at, index)
	w.put("response.reasoning_summary_part.done", id, at, index, field("part", o.Bytes()))
}
