package recorder

import (
	"slices"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// constrainedBy returns the field by which a request restricts sampling by a
// grammar, or "". The logprobs of such an answer may be those after masking,
// whatever the engine reports elsewhere: they are not the policy's own. The
// call's sampling stores the field as "constrained_by".
func (q *request) constrainedBy() string {
	choice := q.fields.Get("tool_choice")
	if len(choice) > 0 && choice[0] == '{' || slices.Contains([]string{"required", "any"}, jsontext.Unquote(choice)) {
		return "tool_choice"
	}
	restricts := func(format []byte) bool {
		kind := jsontext.Unquote(jsontext.ParseObject(format).Get("type"))
		return kind != "" && kind != "text"
	}
	if restricts(q.fields.Get("response_format")) {
		return "response_format"
	}
	if restricts(jsontext.ParseObject(q.fields.Get("text")).Get("format")) {
		return "text.format"
	}
	for _, name := range []string{
		"structured_outputs", "guided_json", "guided_regex", "guided_choice", "guided_grammar", // vLLM
		"json_schema", "regex", "ebnf", "structural_tag", "grammar", // SGLang, llama.cpp
	} {
		if q.fields.Has(name) {
			return name
		}
	}
	return ""
}
