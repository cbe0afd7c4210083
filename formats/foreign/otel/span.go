package otel

import (
	"cmp"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// sourceSpan is a span of any source; its attributes have the names of the conventions.
type sourceSpan struct {
	id, parent, name string
	kind             string
	start, end       int64 // microseconds
	failed           bool
	message          string // of the status
	attrs            jsontext.Object
	events           []event
	order            int

	inner  bool // it contains a call of a model
	nested bool // it is a call of an agent that another one called
	logged bool // only its log records are known
}

// event is an event of a span, or a log record.
type event struct {
	name  string
	attrs jsontext.Object
	body  []byte
}

func (s *sourceSpan) text(keys ...string) string {
	for _, k := range keys {
		if t := jsontext.Unquote(s.attrs.Get(k)); t != "" {
			return t
		}
	}
	return ""
}

func readSpan(raw []byte) *sourceSpan {
	o := must.Object("a span", raw)
	s := &sourceSpan{id: spanID(o.First("spanId", "span_id")),
		parent: spanID(o.First("parentSpanId", "parent_span_id")), name: must.Text("name", o.Get("name")),
		start: nanos(o.First("startTimeUnixNano", "start_time_unix_nano")),
		end:   nanos(o.First("endTimeUnixNano", "end_time_unix_nano"))}
	status := must.Object("status", o.Get("status"))
	code := string(status.Get("code"))
	s.failed = code == "2" || code == `"STATUS_CODE_ERROR"`
	s.message = must.Text("status.message", status.Get("message"))
	s.attrs = readAttributes(o.Get("attributes"))
	for e := range jsontext.Elements(o.Get("events")) {
		o := must.Object("events", e)
		s.events = append(s.events, event{name: must.Text("events.name", o.Get("name")), attrs: readAttributes(o.Get("attributes"))})
	}
	return s
}

// readLog reads a log record of OTLP, and the id of its span.
func readLog(raw []byte) (e event, span string, at int64) {
	o := must.Object("a log record", raw)
	e.name = must.Text("eventName", o.First("eventName", "event_name"))
	if at = nanos(o.First("timeUnixNano", "time_unix_nano")); at == 0 {
		at = nanos(o.First("observedTimeUnixNano", "observed_time_unix_nano"))
	}
	e.attrs = readAttributes(o.Get("attributes"))
	e.name = cmp.Or(e.name, jsontext.Unquote(e.attrs.Get("event.name")))
	if o.Has("body") {
		e.body = readAnyValue(o.Get("body"), 0)
	}
	return e, spanID(o.First("spanId", "span_id")), at
}

// What a span is of.
const (
	kindModel = "model"
	kindTool  = "tool"
	kindAgent = "agent"
	kindJudge = "judge" // an evaluator or a guardrail
	kindOther = "other"
)

// kindOf returns what a span is of, by any of the conventions.
func kindOf(s *sourceSpan) string {
	switch s.text("gen_ai.operation.name") {
	case "chat", "generate_content", "text_completion", "completion":
		return kindModel
	case "execute_tool":
		return kindTool
	case "invoke_agent", "create_agent":
		return kindAgent
	case "embeddings", "invoke_workflow", "retrieval":
		return kindOther
	}
	switch strings.ToUpper(s.text("openinference.span.kind", "langfuse.observation.type", "traceloop.span.kind")) {
	case "LLM", "GENERATION":
		return kindModel
	case "TOOL":
		return kindTool
	case "AGENT":
		return kindAgent
	case "EVALUATOR", "GUARDRAIL":
		return kindJudge
	case "":
	default:
		return kindOther
	}
	for _, f := range s.attrs {
		if strings.HasPrefix(f.Key, "llm.request.") || strings.HasPrefix(f.Key, "gen_ai.request.") ||
			strings.HasPrefix(f.Key, "gen_ai.input.messages") {
			return kindModel
		}
	}
	for _, e := range s.events {
		if e.name == "gen_ai.choice" { // only the log records of the span are known
			return kindModel
		}
	}
	return kindOther
}
