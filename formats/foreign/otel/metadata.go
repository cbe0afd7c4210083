package otel

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
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

// evaluation is a result of an evaluator that has a number.
type evaluation struct {
	name  string
	value float64
}

// evaluations reads those that a span has: in events by the conventions, and in
// attributes by OpenInference. Those of sessions are not of one trace; the
// attributes keep them.
func (t *trace) evaluations(s *sourceSpan) {
	for _, e := range s.events {
		if e.name == "gen_ai.evaluation.result" {
			t.evaluation(jsontext.Unquote(e.attrs.Get("gen_ai.evaluation.name")),
				e.attrs.Get("gen_ai.evaluation.score.value"),
				e.attrs.Bytes())
		}
	}
	for _, words := range [][2]string{{"annotations", "annotation"}, {"evaluations", "evaluation"}} {
		for _, scope := range []string{"", "trace."} {
			for _, n := range under(s.attrs, scope+words[0]).list() {
				if of := n.get(words[1]); of != nil {
					n = of
				}
				t.evaluation(n.text("name"), n.json("score"), n.json())
			}
		}
	}
}

// score reads a score of Langfuse, or an annotation of Phoenix.
func (t *trace) score(o jsontext.Object, raw []byte) {
	v := o.Get("value")
	if result := jsontext.ParseObject(o.Get("result")); result != nil {
		v = result.Get("score")
	}
	if kind := jsontext.Unquote(o.First("data_type", "dataType")); kind == "CATEGORICAL" || kind == "TEXT" {
		v = nil // the number of a category is its place in a list
	}
	t.evaluation(jsontext.Unquote(o.Get("name")), v, raw)
}

// evaluation adds one. Only a number is a reward; labels are in the metadata.
func (t *trace) evaluation(name string, v, raw []byte) {
	t.raw = append(t.raw, raw)
	if f, err := strconv.ParseFloat(string(v), 64); err == nil && name != "" {
		t.judged = append(t.judged, evaluation{name, f})
	}
}

// rewards sets the rewards. One alone, or one with the name reward, is the total;
// several have none, since no convention says how they add up. A failed
// trajectory has none.
func (t *trace) rewards(row *formats.Trajectory) {
	names := map[string]int{}
	for _, e := range t.judged {
		name := e.name
		if names[name]++; names[name] > 1 {
			name = fmt.Sprintf("%s.%d", name, names[name])
		}
		r := formats.NamedReward{Name: name, Value: &e.value}
		if row.Status == outcomes.StatusFailed {
			r.Value, r.Failure = nil, outcomes.RewardTrajectory
		}
		if name == "reward" || len(t.judged) == 1 {
			r.Weight, row.Reward = 1, r.Value
		}
		row.Rewards = append(row.Rewards, r)
	}
}
