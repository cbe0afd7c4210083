package gateway

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// chunksMark is in the names of files with the chunks of streams: those of calls.jsonl are in calls.chunks.jsonl.
const chunksMark = ".chunks."

func isChunks(name string) bool { return strings.Contains(name, chunksMark) }

// withChunks cuts a file into records. Those of streams get their chunks, by the call's id; streams of which the file
// has no record follow as records of their own.
func withChunks(f importers.File, yield func(importers.Record) bool) error {
	chunks, err := chunksOf(f)
	if err != nil {
		return err
	}
	next, more := int64(0), true
	err = importers.Rows(f, func(r importers.Record) bool {
		next = r.Row + 1
		if len(chunks) > 0 {
			o := jsontext.ParseObject(r.Data)
			if inner := o.Get("standard_logging_object"); inner != nil {
				o = jsontext.ParseObject(inner)
			}
			id := jsontext.Unquote(o.Get("litellm_call_id"))
			of := chunks[id].Data
			whole := jsontext.Unquote(jsontext.ParseObject(of).Get("end")) == complete
			if of != nil && whole == (jsontext.Unquote(o.Get("status")) == "success") { // not a failed try before it
				r.Context = of
				delete(chunks, id)
			}
		}
		more = yield(r)
		return more
	})
	for _, id := range slices.Sorted(maps.Keys(chunks)) {
		if err != nil || !more {
			break
		}
		r := chunks[id]
		r.Row = next
		next++
		more = yield(r)
	}
	return err
}

// chunksOf returns the chunks of streams that are in the file beside a file, by the ids of their calls.
func chunksOf(f importers.File) (map[string]importers.Record, error) {
	base := path.Base(f.Name)
	stem := strings.TrimSuffix(base, path.Ext(base))
	out := map[string]importers.Record{}
	for _, c := range f.Companions {
		if isChunks(base) || !strings.HasPrefix(c.Name, stem+chunksMark) {
			continue
		}
		data, err := c.Read()
		if err != nil {
			return nil, fmt.Errorf("reading %q beside %q: %w", c.Name, f.Name, err)
		}
		beside := importers.File{Name: c.Name, R: bytes.NewReader(data), Size: int64(len(data)), Options: f.Options}
		for r, err := range importers.Rows.All(beside) {
			if err != nil {
				return nil, fmt.Errorf("beside %q: %w", f.Name, err)
			}
			id := jsontext.Unquote(jsontext.ParseObject(r.Data).Get("litellm_call_id"))
			r.Data, r.Line = bytes.Clone(r.Data), 0
			out[id] = r
		}
	}
	return out, nil
}

// streamed returns the answer that the chunks of a stream are, and sets why the stream has no end. A record of
// the same call has the same answer.
func streamed(o jsontext.Object, c *call) received {
	r := receive("chunks", o.Get("chunks"))
	if end := must.Text("end", o.Get("end")); end != complete {
		class := outcomes.FailEngine
		if end == closed {
			class = outcomes.FailAbandoned
		}
		c.failure = &completion.Failure{Class: class, Text: "the stream has no end: " + end}
	}
	if c.failure == nil && c.answer.data != nil && r.data != nil {
		if a, b := texts(c.answer), texts(r); a != b {
			must.Fail("its chunks are those of another answer: %s, and not %s", importers.Brief([]byte(b)), importers.Brief([]byte(a)))
		}
	}
	return r
}

// Ends of streams in the chunks of the guide's callback; others are errors.
const (
	complete = "complete"
	closed   = "closed by the agent"
)

// texts returns what the choices of an answer say.
func texts(r received) (out string) {
	a, err := r.api.ReadAnswer(r.data, r.stream, 1)
	if err != nil {
		return ""
	}
	for _, c := range a.Choices {
		for out += c.Message.Content; len(c.Message.ToolCalls) > 0; c.Message.ToolCalls = c.Message.ToolCalls[1:] {
			out += c.Message.ToolCalls[0].Name + c.Message.ToolCalls[0].Arguments
		}
	}
	return out
}
