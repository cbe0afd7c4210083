package recorder

import (
	"bytes"
	"errors"
	"io"

	"github.com/rollmill/rollmill/formats/jsontext"
)

func (r *result) readEvent(q *request) error {
	e, err := r.events.next()
	if err == io.EOF {
		r.ended = true
		return nil
	}
	if err == nil {
		err = e.addTo(r.answer, q.view)
	}
	if err != nil || e.data == nil {
		return err
	}
	r.ended = e.last()
	if finished := r.answer.finished(1); !r.ended && (r.topLevel == nil || finished) {
		r.keepTopLevel(e.data, finished)
	}
	return nil
}

// keepTopLevel keeps the members of a chunk that a whole answer has once.
func (r *result) keepTopLevel(chunk []byte, finished bool) {
	o := jsontext.ParseObject(bytes.Clone(chunk))
	if r.topLevel == nil {
		r.topLevel = jsontext.Object{field("id", orEmpty(o.Get("id")))}
		if created := o.Get("created"); created != nil {
			r.topLevel.Set("created", created)
		}
	}
	if usage := o.Get("usage"); jsontext.ParseObject(usage) != nil {
		r.topLevel.Set("usage", usage)
	}
	if choices := o.Get("choices"); finished && len(choices) > len("[]") {
		r.topLevel.Set("choices", choices)
	}
}

// errNoStreamLogprobs is the error of a stream that is abandoned because its tokens
// have no logprobs. The same engine's whole answers may have them.
var errNoStreamLogprobs = errors.New("the stream has no logprobs")

// openTranslated reads a stream up to the first text, call or end.
func (r *result) openTranslated(q *request) error {
	if q.onAccepted != nil {
		q.onAccepted(r.header)
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
			case !c.hasOutput():
			case q.needsLogprobs && !c.tokens.listed:
				return errNoStreamLogprobs
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
