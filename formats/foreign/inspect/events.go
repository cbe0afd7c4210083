package inspect

import (
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// span is a part of the time of a sample.
type span struct{ parent, kind, name string }

// reader reads the events of a sample.
type reader struct {
	*builder
	spans   map[string]span
	scoring int // steps of scorers that are open, in logs without spans
	kept    [][]byte
}

// readEvents reads the calls of models. What has no place in a trajectory is
// kept or counted.
func (b *builder) readEvents(list []byte) error {
	r := &reader{builder: b, spans: map[string]span{}}
	if err := r.list(list, 0); err != nil {
		return err
	}
	if len(r.kept) > 0 {
		events, err := b.resolve(value.Join(r.kept))
		if err != nil {
			return err
		}
		b.meta.Add("events", events)
	}
	return nil
}

// maxNested is how deep events are in those of tools and subtasks, in logs
// without spans.
const maxNested = 100

func (r *reader) list(list []byte, depth int) error {
	return value.Each("events", list, func(raw []byte) error { return r.event(raw, depth) })
}

func (r *reader) event(raw []byte, depth int) error {
	var in value.Reader
	o := in.Object("it", raw)
	kind := in.Text("event", o.Get("event"))
	nested := in.List("events", o.Get("events"))
	if in.Err != nil {
		return in.Err
	}
	switch kind {
	case "model":
		return r.model(o)
	case "span_begin":
		r.spans[in.Text("id", o.Get("id"))] = span{in.Text("parent_id", o.Get("parent_id")), in.Text("type", o.Get("type")),
			in.Text("name", o.Get("name"))}
	case "step":
		if strings.HasPrefix(in.Text("type", o.Get("type")), "scorer") {
			if jsontext.Unquote(o.Get("action")) == "begin" {
				r.scoring++
			} else if r.scoring > 0 {
				r.scoring--
			}
		}
	}
	switch kind {
	case "span_begin", "span_end", "step", "sample_init", "state", "store", "tool", "subtask", "sandbox", "logger",
		"score", "error":
		r.count(kind)
	default:
		r.kept = append(r.kept, raw)
	}
	if len(nested) > len("[]") && depth < maxNested {
		return r.list(nested, depth+1)
	}
	return in.Err
}

func (r *reader) model(o jsontext.Object) error {
	output, err := r.resolve(o.Get("output"))
	if err != nil {
		return err
	}
	if o.Has("output") {
		o.Set("output", output)
	}
	e, err := newEvent(o)
	if err != nil {
		return err
	}
	id := jsontext.Unquote(o.Get("span_id"))
	for range maxNested {
		s, known := r.spans[id]
		if !known {
			break
		}
		if s.kind == "scorer" || s.kind == "scorers" {
			e.judge = true
		}
		if s.kind == "agent" && e.agent == "" {
			e.agent = s.name
		}
		id = s.parent
	}
	e.judge = e.judge || r.scoring > 0
	r.events = append(r.events, e)
	return nil
}
