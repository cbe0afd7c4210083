package recorder

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// readEvent adds the next event to the answer.
func (r *reply) readEvent(q *request) error {
	e, err := r.events.next()
	if err == io.EOF {
		r.ended = true
		return nil
	}
	if err == nil {
		err = e.put(r.answer, q)
	}
	if err != nil || e.data == nil {
		return err
	}
	r.ended = e.last()
	if finished := r.answer.finished(1); !r.ended && (r.top == nil || finished) {
		r.note(e.data, finished)
	}
	return nil
}

// note keeps the members of a chunk that an answer has once.
func (r *reply) note(chunk []byte, finished bool) {
	o := jsontext.ParseObject(bytes.Clone(chunk))
	if r.top == nil {
		r.top = jsontext.Object{field("id", orEmpty(o.Get("id")))}
		if created := o.Get("created"); created != nil {
			r.top.Set("created", created)
		}
	}
	if usage := o.Get("usage"); jsontext.ParseObject(usage) != nil {
		r.top.Set("usage", usage)
	}
	if choices := o.Get("choices"); finished && len(choices) > len("[]") {
		r.top.Set("choices", choices)
	}
}

// errBare is the error of a stream that is given up: its tokens have no logprobs,
// which the same engine's whole answers may have.
var errBare = errors.New("the stream has no logprobs")

// openMade reads a stream up to the first text, call or end.
func (r *reply) openMade(q *request) error {
	if q.accepted != nil {
		q.accepted(r.header)
	}
	if q.needs && strings.HasPrefix(r.header.Get("Server"), "llama.cpp") {
		return errBare // its streams lack the end mark's
	}
	for !r.ended {
		if err := r.readEvent(q); err != nil {
			return err
		}
		if r.answer.err != nil {
			return r.answer.err
		}
		for _, c := range r.answer.choices {
			switch {
			case !c.says():
			case q.needs && !c.tokens.listed:
				return errBare
			default:
				return nil
			}
		}
	}
	if len(r.answer.choices) == 0 {
		return errors.New("the stream is empty")
	}
	return nil
}

// lacking reports whether an answer's failure may be that of a stream alone.
func lacking(f *Failure) bool {
	return f != nil && (f.Class == formats.FailNoLogprobs || f.Class == formats.FailLogprobMismatch)
}

// says reports whether a stream has text or a call yet.
func (c *choice) says() bool {
	return c.text.content.Len() > 0 || c.text.reasoning.Len() > 0 || c.text.refusal.Len() > 0 || len(c.message.ToolCalls) > 0
}
