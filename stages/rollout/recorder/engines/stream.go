package engines

import (
	"bytes"
	"cmp"
	"errors"
	"io"

	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/jsontext"
)

func (r *Result) ReadEvent(q *apis.Request) error {
	e, err := r.Events.Next()
	if err == io.EOF {
		r.Ended = true
		return nil
	}
	if err == nil {
		err = e.AddTo(r.Answer, q.View)
	}
	if err != nil || e.Data == nil {
		return err
	}
	r.Ended = e.Last()
	if finished := r.Answer.Finished(1); !r.Ended && (r.TopLevel == nil || finished) {
		r.keepTopLevel(e.Data, finished)
	}
	return nil
}

// keepTopLevel keeps the members of a chunk that a whole answer has once.
func (r *Result) keepTopLevel(chunk []byte, finished bool) {
	o := jsontext.ParseObject(bytes.Clone(chunk))
	if r.TopLevel == nil {
		r.TopLevel = jsontext.Object{{Key: "id", Raw: []byte(cmp.Or(string(o.Get("id")), `""`))}}
		if created := o.Get("created"); created != nil {
			r.TopLevel.Set("created", created)
		}
	}
	if usage := o.Get("usage"); jsontext.ParseObject(usage) != nil {
		r.TopLevel.Set("usage", usage)
	}
	if choices := o.Get("choices"); finished && len(choices) > len("[]") {
		r.TopLevel.Set("choices", choices)
	}
}

// errNoStreamLogprobs is the error of a stream that is abandoned because its tokens
// have no logprobs. The same engine's whole answers may have them.
var errNoStreamLogprobs = errors.New("the stream has no logprobs")

// openTranslated reads a stream up to the first text, call or end.
func (r *Result) openTranslated(q *apis.Request) error {
	if q.OnAccepted != nil {
		q.OnAccepted(r.Header)
	}
	for !r.Ended {
		if err := r.ReadEvent(q); err != nil {
			return err
		}
		if r.Answer.Err != nil {
			return r.Answer.Err
		}
		for _, c := range r.Answer.Choices {
			switch {
			case !c.HasOutput():
			case q.NeedsLogprobs && !c.HasLogprobs():
				return errNoStreamLogprobs
			default:
				return nil
			}
		}
	}
	if len(r.Answer.Choices) == 0 {
		return errors.New("the stream is empty")
	}
	return nil
}
