package inspect

import (
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/must"
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
func (b *builder) readEvents(list []byte) {
	r := &reader{builder: b, spans: map[string]span{}}
	r.list(list, 0)
	if len(r.kept) > 0 {
		b.Meta.Add("events", b.resolve(value.Join(r.kept)))
	}
}

// maxNested is how deep events are in those of tools and subtasks, in logs
// without spans.
const maxNested = 100

func (r *reader) list(list []byte, depth int) {
	must.Each("events", list, func(raw []byte) { r.event(raw, depth) })
}

func (r *reader) event(raw []byte, depth int) {
	o := must.Object("it", raw)
	kind := must.Text("event", o.Get("event"))
	nested := must.List("events", o.Get("events"))
	switch kind {
	case "model":
		r.model(o)
		return
	case "span_begin":
		r.spans[must.Text("id", o.Get("id"))] = span{must.Text("parent_id", o.Get("parent_id")), must.Text("type", o.Get("type")),
			must.Text("name", o.Get("name"))}
	case "step":
		if strings.HasPrefix(must.Text("type", o.Get("type")), "scorer") {
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
		r.list(nested, depth+1)
	}
}

func (r *reader) model(o jsontext.Object) {
	if o.Has("output") {
		o.Set("output", r.resolve(o.Get("output")))
	}
	e := newEvent(o)
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
}
