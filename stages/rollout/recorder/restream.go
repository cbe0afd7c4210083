package recorder

import (
	"bytes"
	"io"
	"net/http"
	"slices"
)

// writeEvents sends the agent a whole response as the stream that it requested.
func (s *Session) writeEvents(w http.ResponseWriter, r *reply) {
	s.headers(w, r.header)
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(r.status)
	(&eventWriter{to: w}).response(parseObject(r.seen))
}

// eventWriter writes a response as the events of OpenAI's API, in its order. A
// text, or a call's arguments, is one delta.
type eventWriter struct {
	to io.Writer
	n  int
}

func (w *eventWriter) put(kind string, fields ...member) {
	o := append(object{{"type", encode(kind)}, {"sequence_number", encode(w.n)}}, fields...)
	w.n++
	data := o.bytes()
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

func (w *eventWriter) response(o object) {
	begun := o.with("status", encode("in_progress")).with("output", emptyList)
	begun.drop("output_text")
	for _, key := range []string{"usage", "incomplete_details", "completed_at", "input_messages", "output_messages"} {
		begun = begun.with(key, []byte("null"))
	}
	w.put("response.created", member{"response", begun.bytes()})
	w.put("response.in_progress", member{"response", begun.bytes()})
	i := 0
	for raw := range elements(o.get("output")) {
		w.item(i, parseObject(raw))
		i++
	}
	kind := "completed"
	switch status := unquote(o.get("status")); status {
	case "incomplete", "failed", "queued", "in_progress":
		kind = status
	case "cancelled":
		kind = "failed"
	}
	w.put("response."+kind, member{"response", o.bytes()})
}

// with returns a copy in which a key, if present, has another value.
func (o object) with(key string, raw []byte) object {
	o = slices.Clone(o)
	if o.get(key) != nil {
		o.set(key, raw)
	}
	return o
}

// item writes the events of one item of the output.
func (w *eventWriter) item(index int, o object) {
	at := member{"output_index", encode(index)}
	id := member{"item_id", emptyText}
	if v := o.get("id"); v != nil {
		id.raw = v
	}
	begun := o.with("status", encode("in_progress"))
	for _, key := range []string{"content", "summary"} {
		begun = begun.with(key, emptyList)
	}
	for _, key := range []string{"arguments", "input"} {
		begun = begun.with(key, emptyText)
	}
	w.put("response.output_item.added", at, member{"item", begun.bytes()})
	i := 0
	for raw := range elements(o.get("summary")) {
		w.summary(id, at, member{"summary_index", encode(i)}, parseObject(raw))
		i++
	}
	i = 0
	for raw := range elements(o.get("content")) {
		w.part(id, at, member{"content_index", encode(i)}, parseObject(raw))
		i++
	}
	switch unquote(o.get("type")) {
	case "function_call":
		w.text("response.function_call_arguments", "arguments", o, member{"name", orEmpty(o.get("name"))}, id, at)
	case "custom_tool_call":
		w.text("response.custom_tool_call_input", "input", o, member{}, id, at)
	}
	w.put("response.output_item.done", at, member{"item", o.bytes()})
}

// text writes the delta and the end of the text at key. more, unless it is
// empty, is a further field of the end.
func (w *eventWriter) text(kind, key string, o object, more member, where ...member) {
	text := orEmpty(o.get(key))
	if !bytes.Equal(text, emptyText) {
		w.put(kind+".delta", append(slices.Clone(where), member{"delta", text})...)
	}
	done := append(slices.Clone(where), member{key, text})
	if more.key != "" {
		done = append(done, more)
	}
	w.put(kind+".done", done...)
}

// part writes the events of a part of a message, or of a reasoning item.
func (w *eventWriter) part(id, at, index member, o object) {
	begun := o.with("logprobs", emptyList).with("annotations", emptyList).with("text", emptyText).with("refusal", emptyText)
	w.put("response.content_part.added", id, at, index, member{"part", begun.bytes()})
	switch kind := unquote(o.get("type")); kind {
	case "output_text":
		logprobs := member{"logprobs", emptyList}
		if o.has("logprobs") {
			logprobs.raw = o.get("logprobs")
		}
		w.text("response.output_text", "text", o, member{}, id, at, index, logprobs)
	case "reasoning_text":
		w.text("response.reasoning_text", "text", o, member{}, id, at, index)
	case "refusal":
		w.text("response.refusal", "refusal", o, member{}, id, at, index)
	}
	w.put("response.content_part.done", id, at, index, member{"part", o.bytes()})
}

func (w *eventWriter) summary(id, at, index member, o object) {
	w.put("response.reasoning_summary_part.added", id, at, index, member{"part", o.with("text", emptyText).bytes()})
	w.text("response.reasoning_summary_text", "text", o, member{}, id, at, index)
	w.put("response.reasoning_summary_part.done", id, at, index, member{"part", o.bytes()})
}
