package otel

import (
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// columns are the attributes of a call that columns hold. Those that end in a dot
// are the beginning of names.
var columns = []string{
	"gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions",
	"gen_ai.request.", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.prompt_tokens",
	"gen_ai.usage.completion_tokens", "gen_ai.usage.total_tokens", "gen_ai.usage.cache_read.input_tokens",
	"gen_ai.usage.cache_read_input_tokens",
	"gen_ai.response.model", "gen_ai.response.finish_reasons", "gen_ai.prompt", "gen_ai.completion",
	"llm.input_messages", "llm.output_messages", "llm.tools",
	"llm.token_count.prompt", "llm.token_count.completion", "llm.token_count.total", "llm.token_count.prompt_details.cache_read",
	"llm.invocation_parameters", "llm.model_name", "llm.finish_reason", "llm.request.functions",
	"input.", "output.",
	"langfuse.observation.input", "langfuse.observation.output", "langfuse.observation.model.parameters",
	"openinference.span.kind", "langfuse.observation.type",
}

// unread returns the attributes of a call that no column holds.
func unread(attrs jsontext.Object) (out jsontext.Object) {
next:
	for _, f := range attrs {
		for _, c := range columns {
			if rest, is := strings.CutPrefix(f.Key, c); is && f.Key != "gen_ai.prompt.name" &&
				(rest == "" || rest[0] == '.' || c[len(c)-1] == '.') {
				continue next
			}
		}
		if string(f.Raw) != "null" {
			out = append(out, f)
		}
	}
	return out
}

// metadata keeps what is known of the trace and of the spans around the calls.
func (t *trace) metadata() {
	for _, f := range t.about {
		t.Meta.Add(f.Key, f.Raw)
	}
	if len(t.resource) > 0 {
		t.Meta.Add("resource", t.resource.Bytes())
	}
	for _, name := range []string{"gen_ai.conversation.id", "session.id", "user.id", "enduser.id"} {
		for _, s := range t.spans {
			if s.attrs.Has(name) {
				t.Meta.Add(name, s.attrs.Get(name))
				break
			}
		}
	}
	if len(t.raw) > 0 {
		t.Meta.Add("evaluations", value.Join(t.raw))
	}
	var spans [][]byte
	for _, s := range t.spans {
		if s.kind == kindModel && !s.inner {
			continue
		}
		spans = append(spans, s.describe())
	}
	if len(spans) > 0 {
		t.Meta.Add("spans", value.Join(spans))
	}
}

// describe returns a span as JSON, with the attributes' own names.
func (s *sourceSpan) describe() []byte {
	o := jsontext.Object{{Key: "name", Raw: importers.Quote(s.name)}, {Key: "kind", Raw: importers.Quote(s.kind)},
		{Key: "span_id", Raw: importers.Quote(s.id)}}
	if s.parent != "" {
		o.Set("parent_id", importers.Quote(s.parent))
	}
	if s.end > s.start && s.start > 0 {
		o.Set("duration_us", strconv.AppendInt(nil, s.end-s.start, 10))
	}
	if s.failed {
		o.Set("error", importers.Quote(s.failure()))
	}
	attrs := s.attrs
	if s.kind == kindModel {
		attrs = unread(attrs) // the call inside has the content
	}
	if len(attrs) > 0 {
		o.Set("attributes", attrs.Bytes())
	}
	return o.Bytes()
}
