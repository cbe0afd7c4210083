package otel

import (
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// readPlain reads a span of the console exporter, or of Phoenix: in the form of
// its interface, or of the rows of its data frames.
func readPlain(raw []byte) *sourceSpan {
	o := must.Object("a span", raw)
	must.Object("context", o.Get("context"))
	s := &sourceSpan{id: spanID(plainID(o, "span_id")), parent: spanID(o.Get("parent_id")), name: must.Text("name", o.Get("name")),
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
