package inspect

import (
	"cmp"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// event is a call of a model.
type event struct {
	o       jsontext.Object
	model   string
	failure string
	answer  *message // the first choice; nil when there is none
	choice  jsontext.Object
	others  []formats.Message // the other choices
	judge   bool              // a scorer called
	pending bool              // the log ends before its answer
	only    bool              // it is the sample's output: an event only when nothing else is
	agent   string            // the agent that called
	path    int               // index of its answer in the main path; -1
}

// newEvent reads an event without its prompt.
func newEvent(o jsontext.Object) *event {
	e := &event{o: o, model: must.Text("model", o.Get("model")), failure: must.Text("error", o.Get("error")), path: -1,
		pending: jsontext.IsTrue(o.Get("pending")), judge: must.Text("role", o.Get("role")) == "grader"}
	output := must.Object("output", o.Get("output"))
	e.failure = cmp.Or(e.failure, must.Text("output.error", output.Get("error")))
	choices := must.List("output.choices", output.Get("choices"))
	if e.failure != "" {
		return e // Inspect writes an empty choice for a call that failed
	}
	for raw := range jsontext.Elements(choices) {
		c := must.Object("output.choices", raw)
		m := readMessage(c.Get("message"))
		if e.answer == nil {
			e.answer, e.choice = &m, c
			continue
		}
		readChoice(c, &m)
		e.others = append(e.others, m.Message)
	}
	return e
}

// readChoice adds to an answer what its choice says of it, and returns where the
// token ids are from.
func readChoice(c jsontext.Object, m *message) (source string) {
	m.FinishReason = must.Text("stop_reason", c.Get("stop_reason"))
	source = value.ChoiceLogprobs(&m.Message, c.Get("logprobs"))
	for _, key := range []string{"stop_details", "prompt_logprobs"} {
		if c.Has(key) {
			m.Others = append(m.Others, jsontext.Member{Key: key, Raw: c.Get(key)})
		}
	}
	if top := alternatives(c.Get("logprobs")); top != nil {
		m.Others = append(m.Others, jsontext.Member{Key: "top_logprobs", Raw: top})
	}
	return source
}

// alternatives returns the most likely tokens at each place; nil when they are
// only those that were sampled.
func alternatives(v []byte) []byte {
	var lists [][]byte
	others := false
	for raw := range jsontext.Elements(jsontext.ParseObject(v).Get("content")) {
		o := jsontext.ParseObject(raw)
		top := value.OrNull(o.Get("top_logprobs"))
		for t := range jsontext.Elements(top) {
			others = others || string(jsontext.ParseObject(t).Get("token")) != string(o.Get("token"))
		}
		lists = append(lists, top)
	}
	if !others {
		return nil
	}
	return value.Join(lists)
}

// local are settings of the client: they do not decide what is sampled.
var local = []string{"max_connections", "max_retries", "timeout", "attempt_timeout", "adaptive_connections", "batch",
	"cache"}

// call reads the call; model is the name that the answer has.
func (e *event) call(model string) formats.Call {
	output := must.Object("output", e.o.Get("output"))
	usage := must.Object("usage", output.Get("usage"))
	call := formats.Call{Model: cmp.Or(must.Text("output.model", output.Get("model")), model, e.model), Error: e.failure,
		Function: e.agent}
	call.CachedTokens = must.Count("usage.input_tokens_cache_read", usage.Get("input_tokens_cache_read"))
	call.PromptTokens = must.Count("usage.input_tokens", usage.Get("input_tokens")) + call.CachedTokens +
		must.Count("usage.input_tokens_cache_write", usage.Get("input_tokens_cache_write"))
	call.CompletionTokens = must.Count("usage.output_tokens", usage.Get("output_tokens"))
	if t := must.Number("output.time", output.Get("time")); t != nil && *t > 0 && *t < 1e9 {
		call.LatencyMS = int64(*t * 1000)
	}
	if n := must.Whole("retries", e.o.Get("retries")); n != nil && *n > 0 && *n < 1<<30 {
		call.Attempts = int32(*n) + 1
	}
	sampling := value.Without(must.Object("config", e.o.Get("config")), local...)
	if choose := e.o.Get("tool_choice"); e.o.Has("tool_choice") && string(choose) != `"auto"` &&
		len(e.o.Get("tools")) > len("[]") {
		sampling = append(sampling, jsontext.Member{Key: "tool_choice", Raw: choose})
	}
	call.Sampling = jsontext.Compact(sampling.Bytes())
	return call
}

// prompt returns the messages that a call was given: its own, or those of the
// pool that it refers to.
func (b *builder) prompt(e *event) (out []message) {
	if !e.o.Has("input_refs") {
		return messages("input", b.resolve(e.o.Get("input")))
	}
	if b.pooled == nil {
		b.pooled = messages("events_data.messages", b.resolve(b.pool))
	}
	for raw := range jsontext.Elements(must.List("input_refs", e.o.Get("input_refs"))) {
		var ends []int
		for v := range jsontext.Elements(must.List("input_refs", raw)) {
			n := must.Whole("input_refs", v)
			if n == nil || *n < 0 || *n > int64(len(b.pooled)) {
				must.Fail("input_refs refer to messages %s of %d", raw, len(b.pooled))
			}
			ends = append(ends, int(*n))
		}
		if len(ends) != 2 || ends[0] > ends[1] {
			must.Fail("input_refs has the range %s", raw)
		}
		if out = append(out, b.pooled[ends[0]:ends[1]]...); len(out) > maxPrompt {
			must.Fail("input_refs refer to more than %d messages", maxPrompt)
		}
	}
	return out
}

// maxPrompt bounds a prompt that is made of references.
const maxPrompt = 1 << 20

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
