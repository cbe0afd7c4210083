package otel

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
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
	s := &sourceSpan{id: spanID(first(o, "spanId", "span_id")),
		parent: spanID(first(o, "parentSpanId", "parent_span_id")), name: must.Text("name", o.Get("name")),
		start: nanos(first(o, "startTimeUnixNano", "start_time_unix_nano")),
		end:   nanos(first(o, "endTimeUnixNano", "end_time_unix_nano"))}
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
	e.name = must.Text("eventName", first(o, "eventName", "event_name"))
	if at = nanos(first(o, "timeUnixNano", "time_unix_nano")); at == 0 {
		at = nanos(first(o, "observedTimeUnixNano", "observed_time_unix_nano"))
	}
	e.attrs = readAttributes(o.Get("attributes"))
	e.name = cmp.Or(e.name, jsontext.Unquote(e.attrs.Get("event.name")))
	if o.Has("body") {
		e.body = readAnyValue(o.Get("body"), 0)
	}
	return e, spanID(first(o, "spanId", "span_id")), at
}

// readPlain reads a span of the console exporter, or of Phoenix: in the form of
// its interface, or of the rows of its data frames.
func readPlain(raw []byte) *sourceSpan {
	o := must.Object("a span", raw)
	context := must.Object("context", o.Get("context"))
	id := first(context, "span_id")
	if id == nil {
		id = first(o, "context.span_id")
	}
	s := &sourceSpan{id: spanID(id), parent: spanID(o.Get("parent_id")), name: must.Text("name", o.Get("name")),
		start: value.Micros(o.Get("start_time")), end: value.Micros(o.Get("end_time"))}
	status := jsontext.ParseObject(o.Get("status"))
	code := jsontext.Unquote(first(status, "status_code")) + jsontext.Unquote(o.Get("status_code"))
	s.failed = code == "ERROR"
	s.message = jsontext.Unquote(first(status, "description")) + jsontext.Unquote(o.Get("status_message"))
	for _, f := range must.Object("attributes", o.Get("attributes")) {
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
	for e := range jsontext.Elements(must.List("events", o.Get("events"))) {
		o := must.Object("events", e)
		s.events = append(s.events,
			event{name: must.Text("events.name", o.Get("name")), attrs: must.Object("events.attributes", o.Get("attributes"))})
	}
	return s
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
func readAttributes(list []byte) (out jsontext.Object) {
	for raw := range jsontext.Elements(list) {
		o := jsontext.ParseObject(raw)
		key := jsontext.Unquote(o.Get("key"))
		if key == "" {
			must.Fail("an attribute has no key: %s", importers.Brief(raw))
		}
		out = append(out, jsontext.Member{Key: key, Raw: readAttribute(key, o.Get("value"))})
	}
	return out
}

func readAttribute(key string, v []byte) []byte {
	defer must.At("the attribute %s", key)
	return readAnyValue(v, 0)
}

// maxDepth bounds how deep values are in others.
const maxDepth = 200

// readAnyValue returns a value of OTLP as JSON.
func readAnyValue(raw []byte, depth int) []byte {
	if depth > maxDepth {
		must.Fail("values are nested more than %d deep", maxDepth)
	}
	for key, v := range jsontext.Members(raw) {
		switch string(key) {
		case "stringValue", "string_value", "boolValue", "bool_value", "bytesValue", "bytes_value":
			return v
		case "doubleValue", "double_value":
			if v[0] == '"' { // NaN and infinities
				return []byte("null")
			}
			return v
		case "intValue", "int_value":
			text := string(v)
			if v[0] == '"' {
				text = jsontext.Unquote(v)
			}
			if _, err := strconv.ParseInt(text, 10, 64); err != nil {
				must.Fail("intValue is %s", importers.Brief(v))
			}
			return []byte(text)
		case "arrayValue", "array_value":
			var out [][]byte
			for e := range jsontext.Elements(jsontext.ParseObject(v).Get("values")) {
				out = append(out, readAnyValue(e, depth+1))
			}
			return value.Join(out)
		case "kvlistValue", "kvlist_value":
			var out jsontext.Object
			for e := range jsontext.Elements(jsontext.ParseObject(v).Get("values")) {
				o := jsontext.ParseObject(e)
				out = append(out, jsontext.Member{Key: jsontext.Unquote(o.Get("key")), Raw: readAnyValue(o.Get("value"), depth+1)})
			}
			return out.Bytes()
		}
	}
	return []byte("null")
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

// readObservation reads an observation of Langfuse, with the names of its columns
// or of its interface, as a span.
func readObservation(raw []byte) *sourceSpan {
	o := must.Object("an observation", raw)
	s := &sourceSpan{id: spanID(o.Get("id")), parent: spanID(first(o, "parent_observation_id", "parentObservationId")),
		name:  must.Text("name", o.Get("name")),
		start: value.Micros(first(o, "start_time", "startTime")), end: value.Micros(first(o, "end_time", "endTime"))}
	s.failed = must.Text("level", o.Get("level")) == "ERROR"
	s.message = must.Text("status_message", first(o, "status_message", "statusMessage"))
	usage := jsontext.ParseObject(decoded(first(o, "usage_details", "usageDetails", "usage")))
	for _, f := range o {
		name := ""
		switch f.Key {
		case "id", "trace_id", "traceId", "parent_observation_id", "parentObservationId", "name", "start_time", "startTime",
			"end_time", "endTime", "status_message", "statusMessage":
			continue
		case "type":
			name = "langfuse.observation.type"
		case "input", "output":
			name = "langfuse.observation." + f.Key
		case "provided_model_name", "providedModelName", "model":
			name = "gen_ai.request.model"
		case "model_parameters", "modelParameters":
			name = "langfuse.observation.model.parameters"
		case "session_id", "sessionId":
			name = "session.id"
		case "metadata":
			for key, v := range jsontext.Members(decoded(f.Raw)) {
				s.attrs = append(s.attrs, jsontext.Member{Key: "metadata." + string(key), Raw: v})
			}
			continue
		default:
			name = "langfuse." + f.Key
		}
		if text := string(f.Raw); text != "null" && text != `""` {
			s.attrs.Set(name, f.Raw)
		}
	}
	for _, u := range [][]string{
		{"gen_ai.usage.input_tokens", "input", "input_tokens", "promptTokens", "prompt_tokens"},
		{"gen_ai.usage.output_tokens", "output", "output_tokens", "completionTokens", "completion_tokens"},
		{"gen_ai.usage.cache_read.input_tokens", "input_cached_tokens", "cache_read_input_tokens"},
		{"gen_ai.usage.cache_creation.input_tokens", "cache_creation_input_tokens", "input_cache_creation"},
	} {
		if v := first(usage, u[1:]...); v != nil {
			s.attrs.Set(u[0], v)
		}
	}
	if strings.EqualFold(jsontext.Unquote(o.Get("type")), "EVENT") {
		s.kind = kindOther
	}
	return s
}
