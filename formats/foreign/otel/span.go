package otel

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// What a span is of.
const (
	kindModel = "model"
	kindTool  = "tool"
	kindAgent = "agent"
	kindJudge = "judge" // an evaluator or a guardrail
	kindOther = "other"
)

// sourceSpan is a span of any source; its attributes have the names of the
// conventions.
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

// readSpan reads a span of OTLP.
func readSpan(raw []byte) (*sourceSpan, error) {
	var in value.Reader
	o := in.Object("a span", raw)
	s := &sourceSpan{id: spanID(first(o, "spanId", "span_id")),
		parent: spanID(first(o, "parentSpanId", "parent_span_id")), name: in.Text("name", o.Get("name")),
		start: nanos(first(o, "startTimeUnixNano", "start_time_unix_nano")),
		end:   nanos(first(o, "endTimeUnixNano", "end_time_unix_nano"))}
	status := in.Object("status", o.Get("status"))
	code := string(status.Get("code"))
	s.failed = code == "2" || code == `"STATUS_CODE_ERROR"`
	s.message = in.Text("status.message", status.Get("message"))
	if in.Err != nil {
		return nil, in.Err
	}
	var err error
	if s.attrs, err = readAttributes(o.Get("attributes")); err != nil {
		return nil, err
	}
	for e := range jsontext.Elements(o.Get("events")) {
		o := in.Object("events", e)
		attrs, err := readAttributes(o.Get("attributes"))
		if err != nil {
			return nil, err
		}
		s.events = append(s.events, event{name: in.Text("events.name", o.Get("name")), attrs: attrs})
	}
	return s, in.Err
}

// readLog reads a log record of OTLP, and the id of its span.
func readLog(raw []byte) (e event, span string, at int64, err error) {
	var in value.Reader
	o := in.Object("a log record", raw)
	e.name = in.Text("eventName", first(o, "eventName", "event_name"))
	if at = nanos(first(o, "timeUnixNano", "time_unix_nano")); at == 0 {
		at = nanos(first(o, "observedTimeUnixNano", "observed_time_unix_nano"))
	}
	if e.attrs, err = readAttributes(o.Get("attributes")); err != nil {
		return e, "", 0, err
	}
	e.name = cmp.Or(e.name, jsontext.Unquote(e.attrs.Get("event.name")))
	if o.Has("body") {
		if e.body, err = readAnyValue(o.Get("body"), 0); err != nil {
			return e, "", 0, err
		}
	}
	return e, spanID(first(o, "spanId", "span_id")), at, in.Err
}

// readPlain reads a span of the console exporter, or of Phoenix: in the form of
// its interface, or of the rows of its data frames.
func readPlain(raw []byte) (*sourceSpan, error) {
	var in value.Reader
	o := in.Object("a span", raw)
	context := in.Object("context", o.Get("context"))
	id := first(context, "span_id")
	if id == nil {
		id = first(o, "context.span_id")
	}
	s := &sourceSpan{id: spanID(id), parent: spanID(o.Get("parent_id")), name: in.Text("name", o.Get("name")),
		start: value.Micros(o.Get("start_time")), end: value.Micros(o.Get("end_time"))}
	status := jsontext.ParseObject(o.Get("status"))
	code := jsontext.Unquote(first(status, "status_code")) + jsontext.Unquote(o.Get("status_code"))
	s.failed = code == "ERROR"
	s.message = jsontext.Unquote(first(status, "description")) + jsontext.Unquote(o.Get("status_message"))
	for _, f := range in.Object("attributes", o.Get("attributes")) {
		flatten(&s.attrs, f.Key, f.Raw, 0)
	}
	for _, f := range o {
		if name, is := strings.CutPrefix(f.Key, "attributes."); is && string(f.Raw) != "null" {
			flatten(&s.attrs, name, f.Raw, 0)
		}
	}
	if kind := jsontext.Unquote(o.Get("span_kind")); kind != "" && !s.attrs.Has("openinference.span.kind") {
		s.attrs.Set("openinference.span.kind", o.Get("span_kind"))
	}
	for e := range jsontext.Elements(in.List("events", o.Get("events"))) {
		o := in.Object("events", e)
		s.events = append(s.events,
			event{name: in.Text("events.name", o.Get("name")), attrs: in.Object("events.attributes", o.Get("attributes"))})
	}
	return s, in.Err
}

// flatten adds an attribute; the members of an object that is the beginning of
// names, such as llm, are attributes of their own.
func flatten(attrs *jsontext.Object, name string, v []byte, depth int) {
	switch root, _, _ := strings.Cut(name, "."); root {
	case "llm", "gen_ai", "openinference", "input", "output", "session", "tool", "agent", "user":
		if v[0] == '{' && depth < 8 {
			for key, v := range jsontext.Members(v) {
				flatten(attrs, name+"."+string(key), v, depth+1)
			}
			return
		}
	}
	*attrs = append(*attrs, jsontext.Member{Key: name, Raw: v})
}

// readAttributes returns attributes of OTLP as JSON values.
func readAttributes(list []byte) (out jsontext.Object, err error) {
	for raw := range jsontext.Elements(list) {
		o := jsontext.ParseObject(raw)
		key := jsontext.Unquote(o.Get("key"))
		if key == "" {
			return nil, fmt.Errorf("an attribute has no key: %s", importers.Brief(raw))
		}
		v, err := readAnyValue(o.Get("value"), 0)
		if err != nil {
			return nil, fmt.Errorf("the attribute %s: %w", key, err)
		}
		out = append(out, jsontext.Member{Key: key, Raw: v})
	}
	return out, nil
}

// maxDepth bounds how deep values are in others.
const maxDepth = 200

// readAnyValue returns a value of OTLP as JSON.
func readAnyValue(raw []byte, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("values are nested more than %d deep", maxDepth)
	}
	for key, v := range jsontext.Members(raw) {
		switch string(key) {
		case "stringValue", "string_value", "boolValue", "bool_value", "bytesValue", "bytes_value":
			return v, nil
		case "doubleValue", "double_value":
			if v[0] == '"' { // NaN and infinities
				return []byte("null"), nil
			}
			return v, nil
		case "intValue", "int_value":
			text := string(v)
			if v[0] == '"' {
				text = jsontext.Unquote(v)
			}
			if _, err := strconv.ParseInt(text, 10, 64); err != nil {
				return nil, fmt.Errorf("intValue is %s", importers.Brief(v))
			}
			return []byte(text), nil
		case "arrayValue", "array_value":
			var out [][]byte
			for e := range jsontext.Elements(jsontext.ParseObject(v).Get("values")) {
				x, err := readAnyValue(e, depth+1)
				if err != nil {
					return nil, err
				}
				out = append(out, x)
			}
			return value.Join(out), nil
		case "kvlistValue", "kvlist_value":
			var out jsontext.Object
			for e := range jsontext.Elements(jsontext.ParseObject(v).Get("values")) {
				o := jsontext.ParseObject(e)
				x, err := readAnyValue(o.Get("value"), depth+1)
				if err != nil {
					return nil, err
				}
				out = append(out, jsontext.Member{Key: jsontext.Unquote(o.Get("key")), Raw: x})
			}
			return out.Bytes(), nil
		}
	}
	return []byte("null"), nil
}

// nanos reads a time in nanoseconds, a number or a text of one, in microseconds.
func nanos(v []byte) int64 {
	text := string(v)
	if len(v) > 0 && v[0] == '"' {
		text = jsontext.Unquote(v)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n / 1000
}

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
