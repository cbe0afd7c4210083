package recorder

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
)

// DefaultExtra makes vLLM and SGLang return token ids. Engines that do not
// know a field ignore it; one that refuses it by name is asked again without.
var DefaultExtra = map[string]any{"return_token_ids": true, "return_tokens_as_token_ids": true}

// request is one chat request of an agent.
type request struct {
	fields   object // as the agent sent them, then with what was added
	model    string // as the agent named it
	messages []formats.Message
	tools    string // JSON array; "" for none
	stream   bool
	choices  int // n

	view  view
	added []string // fields that an engine may not know
}

func parseRequest(body []byte) (*request, error) {
	if !valid(body) {
		return nil, errors.New("the request is not JSON")
	}
	q := &request{fields: parseObject(body), choices: 1}
	list := q.fields.get("messages")
	if len(list) == 0 || list[0] != '[' {
		return nil, errors.New(`the request has no list "messages"`)
	}
	for raw := range elements(list) {
		q.messages = append(q.messages, parseMessage(raw))
	}
	q.model = unquote(q.fields.get("model"))
	if tools := q.fields.get("tools"); len(tools) > 2 && tools[0] == '[' {
		q.tools = compact(tools)
	}
	q.stream = isTrue(q.fields.get("stream"))
	if n, err := strconv.Atoi(string(q.fields.get("n"))); err == nil && n > 1 {
		q.choices = n
	}
	q.view = view{
		logprobs: isTrue(q.fields.get("logprobs")), ids: isTrue(q.fields.get("return_token_ids")), stream: q.stream,
		usage: isTrue(parseObject(q.fields.get("stream_options")).get("include_usage")),
	}
	return q, nil
}

// enrich adds what training needs and the run's defaults; fields that the
// agent set stand.
func (q *request) enrich(o *Options, seed *int64) {
	if q.model == "" {
		q.fields.set("model", encode(o.Model))
	}
	for _, name := range sortedKeys(o.Sampling) {
		if !q.sets(name) {
			q.fields.set(name, encode(o.Sampling[name]))
		}
	}
	if seed != nil && !q.fields.has("seed") {
		q.fields.set("seed", encode(*seed))
	}
	q.fields.set("logprobs", []byte("true"))
	if string(q.fields.get("top_logprobs")) == "0" {
		q.fields.drop("top_logprobs") // the default; llama-server takes a 0 for no logprobs at all
	}
	for _, name := range sortedKeys(o.Extra) {
		q.addExtra(name, o.Extra[name])
	}
	if q.stream && !q.view.usage {
		options := parseObject(q.fields.get("stream_options"))
		options.set("include_usage", []byte("true"))
		if !q.fields.has("stream_options") {
			q.added = append(q.added, "stream_options")
		}
		q.fields.set("stream_options", options.bytes())
	}
}

// addExtra leaves the texts of tokens alone when the agent wants to read them.
func (q *request) addExtra(name string, value any) {
	if q.fields.has(name) || name == "return_tokens_as_token_ids" && q.view.logprobs {
		return
	}
	q.fields.set(name, encode(value))
	q.added = append(q.added, name)
}

// sets tells whether the agent set a field, under any of its names.
func (q *request) sets(name string) bool {
	if name == "max_tokens" || name == "max_completion_tokens" {
		return q.fields.has("max_tokens") || q.fields.has("max_completion_tokens")
	}
	return q.fields.has(name)
}

// body is what is sent, without the fields that the engine refused before.
func (q *request) body(without []string) []byte {
	if len(without) == 0 {
		return q.fields.bytes()
	}
	fields := slices.Clone(q.fields)
	for _, name := range without {
		if slices.Contains(q.added, name) {
			fields.drop(name)
		}
	}
	return fields.bytes()
}

// notSampling are the fields that do not change what is sampled, or stand in
// columns of their own.
var notSampling = []string{"model", "messages", "tools", "stream", "stream_options", "logprobs", "top_logprobs",
	"prompt_logprobs", "user", "metadata", "store"}

// sampling is the request's other fields as one JSON object, keys sorted.
func (q *request) sampling(o *Options) string {
	out := map[string]json.RawMessage{}
	for _, f := range q.fields {
		if _, extra := o.Extra[f.key]; !extra && !slices.Contains(notSampling, f.key) {
			out[f.key] = f.raw
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return "{}"
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("recorder: %T is not JSON", v)) // New checked it
	}
	return b
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
