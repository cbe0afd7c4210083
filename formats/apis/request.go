package apis

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/secret"
)

// DefaultExtra makes vLLM and SGLang return token ids. Engines that do not know a field ignore it; if one refuses it by
// name, the request is sent again without.
var DefaultExtra = map[string]any{"return_token_ids": true, "return_tokens_as_token_ids": true}

// Defaults are what a run sets in requests.
type Defaults struct {
	Model          string         // for requests that name none
	Sampling       map[string]any // fields for requests that do not set them
	Extra          map[string]any // nil means DefaultExtra
	NoLogprobs     bool           // missing or unfit logprobs do not fail a trajectory
	AcceptNoFinish bool           // a stream is whole at its end mark, [DONE], also without a finish reason
}

type Request struct {
	API      *API
	Fields   jsontext.Object // as the agent sent them, then with what was added
	Original jsontext.Object // as the agent sent them, of another API than the engine's
	Model    string          // as the agent named it
	Messages []formats.Message

	ToolErrors formats.ToolErrors // of the prompt's tool results, where the API says it: no message has it

	PlainText bool    // the prompt is text without roles: one message
	PromptIDs []int32 // of a prompt that came as token ids
	Previous  string  // id of the response that the prompt continues
	ID        string  // of the response, resp_…, whose items and calls are named after it

	Tools   string // JSON array; "" for none
	Stream  bool
	Choices int // n

	askWhole       bool              // no engine is asked for a stream: the agent's is made of the whole answer
	NeedsLogprobs  bool              // the answer must have logprobs
	AcceptNoFinish bool              // see Defaults
	OnAccepted     func(http.Header) // called when an engine begins a stream that is translated; may be nil
	OnWhole        func()            // called when an engine is asked for a whole answer instead of a stream; may be nil
	View           completion.View
	responses      responsesRequest
	Added          []string // fields that the engine may not support
	Optional       string   // a field that an engine may refuse in this request and accept in others; "" for none
}

// ParseRequest reads a request, which may name responses that are stored.
func ParseRequest(kind *API, body []byte, s *StoredResponses) (*Request, error) {
	if !jsontext.Valid(body) {
		return nil, errors.New("the request is not JSON")
	}
	q := &Request{API: kind, Fields: jsontext.ParseObject(body), Choices: 1}
	q.Model = jsontext.Unquote(q.Fields.Get("model"))
	if tools := q.Fields.Get("tools"); len(tools) > 2 && tools[0] == '[' {
		q.Tools = jsontext.Compact(tools)
	}
	q.Stream = jsontext.IsTrue(q.Fields.Get("stream"))
	if n, err := strconv.Atoi(string(q.Fields.Get("n"))); err == nil && n > 1 {
		q.Choices = n
	}
	q.View = completion.View{
		IDs: jsontext.IsTrue(q.Fields.Get("return_token_ids")), Stream: q.Stream,
		Usage: jsontext.IsTrue(jsontext.ParseObject(q.Fields.Get("stream_options")).Get("include_usage")),
	}
	return q, kind.decode(q, s)
}

// Enrich adds the run's defaults and, to a call that is trained on, the fields
// that training needs. Fields that the agent set are unchanged.
func (q *Request) Enrich(o *Defaults, seed *int64, target bool) {
	q.AcceptNoFinish = o.AcceptNoFinish
	if q.Model == "" {
		q.Fields.Set("model", encode(o.Model))
	}
	for _, key := range slices.Sorted(maps.Keys(o.Sampling)) {
		if !q.sets(key) {
			q.Fields.Set(key, encode(o.Sampling[key]))
		}
	}
	if seed != nil && !q.Fields.Has("seed") {
		q.Fields.Set("seed", encode(*seed))
	}
	if q.StreamTranslated() {
		q.askWhole = q.View.Logprobs || q.Choices > 1
		q.View.Usage = false
		q.Fields.Drop("stream_options")
		q.Fields.Set("stream", encode(!q.askWhole))
	}
	if target {
		q.NeedsLogprobs = !o.NoLogprobs
		q.API.askLogprobs(q)
		if o.NoLogprobs && !q.View.Logprobs {
			q.Optional = "logprobs"
		}
		for _, name := range slices.Sorted(maps.Keys(o.Extra)) {
			q.addExtra(name, o.Extra[name])
		}
	}
	if q.Stream && !q.askWhole && !q.View.Usage {
		options := jsontext.ParseObject(q.Fields.Get("stream_options"))
		options.Set("include_usage", []byte("true"))
		if !q.Fields.Has("stream_options") {
			q.Added = append(q.Added, "stream_options")
		}
		q.Fields.Set("stream_options", options.Bytes())
	}
}

// addExtra adds an extra field. It leaves the texts of tokens unchanged when the agent wants to read them. Ids that the
// agent did not request are recorded but not shown to it.
func (q *Request) addExtra(name string, value any) {
	off := string(q.Fields.Get(name)) == "false"
	if q.Fields.Has(name) && !off || name == "return_tokens_as_token_ids" && q.View.Logprobs {
		return
	}
	q.Fields.Set(name, encode(value))
	q.Added = append(q.Added, name)
}

// sets reports whether the agent set a field, under any of its names.
func (q *Request) sets(name string) bool {
	if name == "max_tokens" || name == "max_completion_tokens" {
		return q.Fields.Has("max_tokens") || q.Fields.Has("max_completion_tokens")
	}
	return q.Fields.Has(name)
}

// StreamTranslated reports whether the agent gets a stream that is translated.
func (q *Request) StreamTranslated() bool { return q.Stream && q.API.Translated() }

// Streamed names the stream of a request among the fields that an engine refuses: engines that have no logprobs in a
// stream with tools may have them in others. A request without it is asked whole.
func (q *Request) Streamed() string {
	switch {
	case !q.Stream || q.askWhole:
		return ""
	case q.Tools != "":
		return "stream with tools"
	}
	return "stream"
}

// Body returns the request to send, without the fields that the engine refused.
func (q *Request) Body(without []string) []byte {
	if len(without) == 0 {
		return q.Fields.Bytes()
	}
	fields := slices.Clone(q.Fields)
	if slices.Contains(without, q.Streamed()) {
		fields.Set("stream", []byte("false"))
		fields.Drop("stream_options")
	}
	for _, name := range without {
		if slices.Contains(q.Added, name) || name == q.Optional {
			fields.Drop(name)
		}
	}
	return fields.Bytes()
}

// unseen are the agent's fields that no template shows to the model.
var unseen = []string{"cache_salt", "prompt_cache_key", "safety_identifier", "api_key", "extra_headers"}

// Shows reports whether a secret is in the tools, or in a field that a template may show to the model.
func (q *Request) Shows(known *secret.Set) bool {
	return known.Redact(q.Tools) != q.Tools || slices.ContainsFunc(q.Fields, func(f jsontext.Member) bool {
		return !slices.Contains(notSampling, f.Key) && !slices.Contains(unseen, f.Key) && known.Redact(string(f.Raw)) != string(f.Raw)
	})
}
