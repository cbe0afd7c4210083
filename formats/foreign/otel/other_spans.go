package otel

import (
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// readObservation reads an observation of Langfuse, with the names of its columns
// or of its interface, as a span.
func readObservation(raw []byte) *sourceSpan {
	o := must.Object("an observation", raw)
	s := &sourceSpan{id: spanID(o.Get("id")), parent: spanID(o.First("parent_observation_id", "parentObservationId")),
		name:  must.Text("name", o.Get("name")),
		start: value.Micros(o.First("start_time", "startTime")), end: value.Micros(o.First("end_time", "endTime"))}
	s.failed = must.Text("level", o.Get("level")) == "ERROR"
	s.message = must.Text("status_message", o.First("status_message", "statusMessage"))
	usage := jsontext.ParseObject(decoded(o.First("usage_details", "usageDetails", "usage")))
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
		if v := usage.First(u[1:]...); v != nil {
			s.attrs.Set(u[0], v)
		}
	}
	if strings.EqualFold(jsontext.Unquote(o.Get("type")), "EVENT") {
		s.kind = kindOther
	}
	return s
}

// readPlain reads a span of the console exporter, or of Phoenix: in the form of
// its interface, or of the rows of its data frames.
func readPlain(raw []byte) *sourceSpan {
	o := must.Object("a span", raw)
	must.Object("context", o.Get("context"))
	s := &sourceSpan{id: spanID(plainID(o, "span_id")), parent: spanID(o.Get("parent_id")), name: must.Text("name", o.Get("name")),
		start: value.Micros(o.Get("start_time")), end: value.Micros(o.Get("end_time"))}
	status := jsontext.ParseObject(o.Get("status"))
	code := jsontext.Unquote(status.First("status_code")) + jsontext.Unquote(o.Get("status_code"))
	s.failed = code == "ERROR"
	s.message = jsontext.Unquote(status.First("description")) + jsontext.Unquote(o.Get("status_message"))
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
