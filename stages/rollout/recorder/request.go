package recorder

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/secret"
)

// DefaultExtra makes vLLM and SGLang return token ids. Engines that do not know
// a field ignore it; if one refuses it by name, the request is sent again
// without.
var DefaultExtra = map[string]any{"return_token_ids": true, "return_tokens_as_token_ids": true}

// defaults are what a run sets in requests; see Options.
type defaults struct {
	Model           string
	Sampling, Extra map[string]any
	NoLogprobs      bool
	AcceptNoFinish  bool
}

type request struct {
	api      *api
	fields   jsontext.Object // as the agent sent them, then with what was added
	original jsontext.Object // as the agent sent them, of another API than the engine's
	model    string          // as the agent named it
	messages []formats.Message

	plainText bool    // the prompt is text without roles: one message
	promptIDs []int32 // of a prompt that came as token ids
	previous  string  // id of the response that the prompt continues

	tools   string // JSON array; "" for none
	stream  bool
	choices int // n

	askWhole       bool              // no engine is asked for a stream: the agent's is made of the whole answer
	needsLogprobs  bool              // the answer must have logprobs
	acceptNoFinish bool              // see Options
	onAccepted     func(http.Header) // called when an engine begins a stream that is translated; may be nil
	onWhole        func()            // called when an engine is asked for a whole answer instead of a stream; may be nil
	view           view
	responses      responsesRequest
	added          []string // fields that the engine may not support
	optional       string   // a field that an engine may refuse in this request and accept in others; "" for none
}

// parseRequest reads a request, which may name responses that are stored.
func parseRequest(kind *api, body []byte, s *storedResponses) (*request, error) {
	if !jsontext.Valid(body) {
		return nil, errors.New("the request is not JSON")
	}
	q := &request{api: kind, fields: jsontext.ParseObject(body), choices: 1}
	q.model = jsontext.Unquote(q.fields.Get("model"))
	if tools := q.fields.Get("tools"); len(tools) > 2 && tools[0] == '[' {
		q.tools = jsontext.Compact(tools)
	}
	q.stream = jsontext.IsTrue(q.fields.Get("stream"))
	if n, err := strconv.Atoi(string(q.fields.Get("n"))); err == nil && n > 1 {
		q.choices = n
	}
	q.view = view{
		ids: jsontext.IsTrue(q.fields.Get("return_token_ids")), stream: q.stream,
		usage: jsontext.IsTrue(jsontext.ParseObject(q.fields.Get("stream_options")).Get("include_usage")),
	}
	return q, kind.decode(q, s)
}

// enrich adds the run's defaults and, to a call that is trained on, the fields
// that training needs. Fields that the agent set are unchanged.
func (q *request) enrich(o *defaults, seed *int64, target bool) {
	q.acceptNoFinish = o.AcceptNoFinish
	if q.model == "" {
		q.fields.Set("model", encode(o.Model))
	}
	for _, key := range slices.Sorted(maps.Keys(o.Sampling)) {
		if !q.sets(key) {
			q.fields.Set(key, encode(o.Sampling[key]))
		}
	}
	if seed != nil && !q.fields.Has("seed") {
		q.fields.Set("seed", encode(*seed))
	}
	if q.streamTranslated() {
		q.askWhole = q.view.logprobs || q.choices > 1
		q.view.usage = false
		q.fields.Drop("stream_options")
		q.fields.Set("stream", encode(!q.askWhole))
	}
	if target {
		q.needsLogprobs = !o.NoLogprobs
		q.api.askLogprobs(q)
		if o.NoLogprobs && !q.view.logprobs {
			q.optional = "logprobs"
		}
		for _, name := range slices.Sorted(maps.Keys(o.Extra)) {
			q.addExtra(name, o.Extra[name])
		}
	}
	if q.stream && !q.askWhole && !q.view.usage {
		options := jsontext.ParseObject(q.fields.Get("stream_options"))
		options.Set("include_usage", []byte("true"))
		if !q.fields.Has("stream_options") {
			q.added = append(q.added, "stream_options")
		}
		q.fields.Set("stream_options", options.Bytes())
	}
}

// addExtra adds an extra field. It leaves the texts of tokens unchanged when
// the agent wants to read them. Ids that the agent did not request are recorded
// but not shown to it.
func (q *request) addExtra(name string, value any) {
	off := string(q.fields.Get(name)) == "false"
	if q.fields.Has(name) && !off || name == "return_tokens_as_token_ids" && q.view.logprobs {
		return
	}
	q.fields.Set(name, encode(value))
	q.added = append(q.added, name)
}

// sets reports whether the agent set a field, under any of its names.
func (q *request) sets(name string) bool {
	if name == "max_tokens" || name == "max_completion_tokens" {
		return q.fields.Has("max_tokens") || q.fields.Has("max_completion_tokens")
	}
	return q.fields.Has(name)
}

// streamTranslated reports whether the agent gets a stream that is translated.
func (q *request) streamTranslated() bool { return q.stream && q.api.translated() }

// streamed names the stream of a request among the fields that an engine
// refuses: engines that have no logprobs in a stream with tools may have them in
// others. A request without it is asked whole.
func (q *request) streamed() string {
	switch {
	case !q.stream || q.askWhole:
		return ""
	case q.tools != "":
		return "stream with tools"
	}
	return "stream"
}

// body returns the request to send, without the fields that the engine refused.
func (q *request) body(without []string) []byte {
	if len(without) == 0 {
		return q.fields.Bytes()
	}
	fields := slices.Clone(q.fields)
	if slices.Contains(without, q.streamed()) {
		fields.Set("stream", []byte("false"))
		fields.Drop("stream_options")
	}
	for _, name := range without {
		if slices.Contains(q.added, name) || name == q.optional {
			fields.Drop(name)
		}
	}
	return fields.Bytes()
}

// notSampling are the fields that do not change what is sampled, or that have
// columns of their own.
var notSampling = []string{"model", "messages", "prompt", "input", "instructions", "previous_response_id", "include", "tools",
	"stream", "stream_options", "logprobs", "top_logprobs", "prompt_logprobs", "user", "metadata", "store"}

// unseen are the agent's fields that no template shows to the model.
var unseen = []string{"cache_salt", "prompt_cache_key", "safety_identifier", "api_key", "extra_headers"}

// shows reports whether a secret is in the tools, or in a field that a template may show to the model.
func (q *request) shows(known *secret.Set) bool {
	return known.Redact(q.tools) != q.tools || slices.ContainsFunc(q.fields, func(f jsontext.Member) bool {
		return !slices.Contains(notSampling, f.Key) && !slices.Contains(unseen, f.Key) && known.Redact(string(f.Raw)) != string(f.Raw)
	})
}

// sampling returns the request's other fields as one JSON object, keys sorted.
func (q *request) sampling(o *defaults) string {
	out := map[string]json.RawMessage{}
	for _, f := range q.fields {
		if _, extra := o.Extra[f.Key]; !extra && !slices.Contains(notSampling, f.Key) {
			out[f.Key] = f.Raw
		}
	}
	if q.api != chatAPI {
		out["api"] = encode(q.api.name) // its prompt may be rendered by another template, or by none
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
