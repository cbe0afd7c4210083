package otel

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

type trace struct {
	record   *importers.Record
	spans    []*sourceSpan
	byID     map[string]*sourceSpan
	resource jsontext.Object
	about    jsontext.Object // what Langfuse says of it
	judged   []evaluation
	raw      [][]byte // evaluations as they are

	importers.Draft
	model    string         // of the main path: subagents of other models do not train
	roots    map[int]string // the agents of first messages
	begun    bool           // the outer agent has a first message
	failure  string         // of the last call of the main path; "" when it answered
	answered bool
	content  bool // a call has a prompt or an answer
}

func parse(r *importers.Record) ([]importers.Item, error) {
	data := value.JSON(r, r.Data)
	t := &trace{record: r, byID: map[string]*sourceSpan{}, roots: map[int]string{}}
	var x importers.Item
	x.Row.TrajectoryID = t.read(data)
	for _, s := range t.spans {
		t.evaluations(s)
	}
	calls := t.sort()
	if len(calls) == 0 {
		r.Lose("trace", "it has no call of a model")
		return nil, nil
	}
	for _, s := range calls {
		t.call(s)
	}
	if !t.content {
		return nil, errNoContent
	}
	t.results()
	t.into(&x.Row)
	x.Row.ExampleID = t.example()
	return []importers.Item{x}, nil
}

var errNoContent = errors.New("no call of a model has its messages: the instrumentation did not record them " +
	"(OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT), or wrote them to log records; put those into the same file, or " +
	"beside it in a file of the same name with .logs before its extension")

// read reads the pieces of a trace, and returns its id.
func (t *trace) read(data []byte) (traceID string) {
	var resource []byte
	for raw := range jsontext.Elements(data) {
		parts := slices.Collect(jsontext.Elements(raw))
		if len(parts) != 3 {
			must.Fail("a part of the trace is %s", importers.Brief(raw))
		}
		if string(parts[1]) != "null" {
			resource = parts[1]
		}
		traceID = cmp.Or(traceID, t.piece(jsontext.Unquote(parts[0]), resource, parts[2]))
	}
	return traceID
}

// piece reads a piece, and returns the id of its trace.
func (t *trace) piece(kind string, resource, raw []byte) (id string) {
	o := jsontext.ParseObject(raw)
	if o == nil {
		must.Fail("a part of the trace is %s, not an object", importers.Brief(raw))
	}
	id = traceID(o.First("traceId", "trace_id"))
	var s *sourceSpan
	switch kind {
	case otlpSpan:
		if s = readSpan(raw); t.resource == nil {
			t.resource = readAttributes(resource)
		}
	case plainSpan:
		s, id = readPlain(raw), traceID(plainID(o, "trace_id"))
		if t.resource == nil {
			t.resource = jsontext.ParseObject(jsontext.ParseObject(o.Get("resource")).Get("attributes"))
		}
	case observation:
		s = readObservation(raw)
	case otlpLog, plainLog:
		t.log(kind, o, raw)
		return id
	case scoreRow:
		t.score(o, raw)
		return id
	default:
		t.about = append(t.about, o...)
		return traceID(o.Get("id"))
	}
	t.addSpan(s)
	return id
}

// again merges a span with one of the same id: its log records may come first,
// and a span may be exported while it runs and when it ends.
func (s *sourceSpan) again(later *sourceSpan) {
	switch {
	case s.logged:
		for _, f := range s.attrs {
			if !later.attrs.Has(f.Key) {
				later.attrs.Set(f.Key, f.Raw)
			}
		}
		later.events = append(later.events, s.events...)
	case len(later.attrs) < len(s.attrs):
		return
	}
	later.order = s.order
	*s = *later
}

func (t *trace) addSpan(s *sourceSpan) {
	if before := t.byID[s.id]; before != nil && s.id != "" {
		before.again(s)
		return
	}
	s.order = len(t.spans)
	t.spans = append(t.spans, s)
	if s.id != "" {
		t.byID[s.id] = s
	}
}

// log adds a log record to its span, which it stands for when that is missing.
func (t *trace) log(kind string, o jsontext.Object, raw []byte) {
	var e event
	var id string
	var at int64
	if kind == otlpLog {
		e, id, at = readLog(raw)
	} else {
		e = event{name: jsontext.Unquote(o.Get("event_name")), attrs: jsontext.ParseObject(o.Get("attributes")),
			body: o.Get("body")}
		e.name = cmp.Or(e.name, jsontext.Unquote(e.attrs.Get("event.name")))
		id, at = spanID(o.Get("span_id")), value.Micros(o.First("timestamp", "observed_timestamp"))
	}
	if !strings.HasPrefix(e.name, "gen_ai.") && e.name != "exception" {
		return // another log of the program
	}
	s := t.byID[id]
	if s == nil {
		s = &sourceSpan{id: id, start: at, end: at, logged: true}
		t.addSpan(s)
	}
	if e.name == "gen_ai.client.inference.operation.details" {
		for _, f := range e.attrs {
			if !s.attrs.Has(f.Key) {
				s.attrs.Set(f.Key, f.Raw)
			}
		}
		return
	}
	s.events = append(s.events, e)
}

// into sets the columns.
func (t *trace) into(row *formats.Trajectory) {
	for _, s := range t.spans {
		if s.start > 0 && (t.Times.Began == 0 || s.start < t.Times.Began) {
			t.Times.Began = s.start
		}
		t.Times.Done = max(t.Times.Done, s.end)
	}
	t.metadata()
	t.Into(row)
	t.status(row)
	t.rewards(row)
}

// example returns the attribute that the user named as the example's id: of the
// outermost span that has it, or of the resource.
func (t *trace) example() string {
	name := t.record.Column(exampleID)
	var found string
	best := maxDepth + 1
	for _, s := range t.spans {
		for _, key := range []string{name, "metadata." + name, "langfuse." + name} {
			if v := s.attrs.Get(key); s.attrs.Has(key) {
				depth := 0
				for range t.above(s) {
					depth++
				}
				if depth < best {
					found, best = jsontext.AnyText(v), depth
				}
			}
		}
	}
	for _, o := range []jsontext.Object{t.about, jsontext.ParseObject(decoded(t.about.Get("metadata"))), t.resource} {
		if found == "" && o.Has(name) {
			found = jsontext.AnyText(o.Get(name))
		}
	}
	return found
}

// status sets the status by the outermost spans, and by the last call.
func (t *trace) status(row *formats.Trajectory) {
	text := t.failure
	class := engineClass(text)
	for _, s := range t.spans {
		if s.failed && (s.parent == "" || t.byID[s.parent] == nil) && s.kind != kindModel {
			if text == "" {
				text = s.failure()
				class = programClass(text)
			}
			break
		}
	}
	switch {
	case text != "":
		importers.Fail(row, class, text)
	case !t.answered:
		importers.Fail(row, outcomes.FailNoCalls, "no call of the model has an answer")
	}
}

var (
	timedOut = regexp.MustCompile(`(?i)time(?:d )?_?-?out|deadline`)
	cancels  = regexp.MustCompile(`(?i)cancel`)
	refused  = regexp.MustCompile(`(?i)\b4(?:0[0-79]|1\d|2[0-8])\b|badrequest|bad_request|invalid_request|authentication|permission|notfound|not_found`)
)

func engineClass(text string) string {
	if refused.MatchString(text) && !timedOut.MatchString(text) {
		return outcomes.FailEngineRefused
	}
	return outcomes.FailEngine
}

func programClass(text string) string {
	switch {
	case timedOut.MatchString(text):
		return outcomes.FailTimeout
	case cancels.MatchString(text):
		return outcomes.FailCancelled
	}
	return outcomes.FailInternal
}
