package apis

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// Own returns the agent's fields that change what is sampled, without a seed.
func (q *Request) Own(added map[string]any) jsontext.Object {
	return slices.DeleteFunc(slices.Clone(q.Fields), func(f jsontext.Member) bool {
		_, extra := added[f.Key]
		return extra || f.Key == "seed" || slices.Contains(notSampling, f.Key)
	})
}

// notSampling are the fields that do not change what is sampled, or that have columns of their own.
var notSampling = []string{"model", "messages", "prompt", "input", "instructions", "previous_response_id", "include", "tools",
	"stream", "stream_options", "logprobs", "top_logprobs", "prompt_logprobs", "user", "metadata", "store"}

// Sampling returns the request's other fields as one JSON object, keys sorted.
func (q *Request) Sampling(o *Defaults) string {
	out := map[string]json.RawMessage{}
	for _, f := range q.Fields {
		if _, extra := o.Extra[f.Key]; !extra && !slices.Contains(notSampling, f.Key) {
			out[f.Key] = f.Raw
		}
	}
	if q.API != Chat {
		out["api"] = encode(q.API.Name) // its prompt may be rendered by another template, or by none
	}
	if q.responses.leftOut != nil {
		out["tools_left_out"] = encode(q.responses.leftOut)
	}
	if by := q.constrainedBy(); by != "" {
		out["constrained_by"] = encode(by)
	}
	text, err := json.Marshal(out)
	if err != nil {
		return "{}"
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// constrainedBy returns the field by which a request restricts sampling by a grammar, or "". The logprobs of such an
// answer may be those after masking, whatever the engine reports elsewhere: they are not the policy's own. The call's
// sampling stores the field as "constrained_by".
func (q *Request) constrainedBy() string {
	choice := q.Fields.Get("tool_choice")
	if len(choice) > 0 && choice[0] == '{' || slices.Contains([]string{"required", "any"}, jsontext.Unquote(choice)) {
		return "tool_choice"
	}
	restricts := func(format []byte) bool {
		kind := jsontext.Unquote(jsontext.ParseObject(format).Get("type"))
		return kind != "" && kind != "text"
	}
	if restricts(q.Fields.Get("response_format")) {
		return "response_format"
	}
	if restricts(jsontext.ParseObject(q.Fields.Get("text")).Get("format")) {
		return "text.format"
	}
	for _, name := range []string{
		"structured_outputs", "guided_json", "guided_regex", "guided_choice", "guided_grammar", // vLLM
		"json_schema", "regex", "ebnf", "structural_tag", "grammar", // SGLang, llama.cpp
	} {
		if q.Fields.Has(name) {
			return name
		}
	}
	return ""
}
