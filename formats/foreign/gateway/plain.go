package gateway

import (
	"bytes"
	"cmp"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Calls reads rows with the bodies of one request and of its answer, under the names of its Fields.
var Calls = importers.Format{
	Name:       "calls",
	Help:       `requests to a model and their answers, as any proxy logs them: {"request": ..., "response": ...}`,
	Spec:       "OpenAI's Chat Completions, Completions and Responses, and Anthropic's Messages",
	Fields:     fields,
	Extensions: []string{".jsonl", ".json", ".ndjson", ".parquet"},
	Columns:    true,
	Log:        true,
	Records:    importers.Rows,
}.ParsedBy(parsePlain)

var fields = []importers.Field{
	{Name: "request", Help: "the request's body: an object, or its text"},
	{Name: "response", Help: "the answer: an object, its text, the text of a stream's events, or a list of chunks"},
	{Name: "id", Help: "the call's own id, the same in all its tries and copies"},
	{Name: "session", Help: "what names the conversation; kept in metadata as session"},
	{Name: "started_at", Help: "when the request came: seconds since 1970, or a text of ISO 8601"},
	{Name: "finished_at", Help: "when the answer ended"},
	{Name: "status", Help: "the answer's HTTP status"},
	{Name: "error", Help: "why there is no answer: a text, or an object with a message"},
	{Name: "path", Help: "the path or URL of the request, which tells the API where no answer does"},
}

func parsePlain(r *importers.Record) ([]importers.Item, error) {
	o := value.Object(r, r.Data)
	get := func(field string) []byte { return o.Get(r.Column(field)) }
	response, text := get("response"), ""
	status := must.Whole("status", get("status"))
	failed := status != nil && (*status < 200 || *status > 299)
	c := call{id: must.ID("id", get("id")), request: body("request", get("request")),
		answer: receive("response", response, failed), times: span(o, r.Column("started_at"), r.Column("finished_at"))}
	c.api = apiOf(must.Text("path", get("path")), c.request, c.answer.api)
	if body := unpacked(response); failed && !empty(body) {
		if text = jsontext.Unquote(body); text == "" { // no page of a server between
			text = completion.ErrorText(body)
		}
	}
	if v := get("error"); !empty(v) {
		if v[0] != '{' {
			must.Text("error", v)
		}
		text = cmp.Or(completion.ErrorText(jsontext.Object{{Key: "error", Raw: v}}.Bytes()), text)
	}
	if failed || text != "" {
		c.failure = refusedBy(*cmp.Or(status, new(int64)), text)
	} else {
		loseProblems(r, o)
	}
	if session := get("session"); must.ID("session", session) != "" { // a number stays one: it is no text for --merge-by
		c.meta.Add("session", session)
	}
	c.keepNamed(r, o)
	return []importers.Item{c.item()}, nil
}

// empty reports whether a member says nothing.
func empty(v []byte) bool {
	return len(v) == 0 || slices.Contains([]string{"null", "false", "0", `""`, "{}", "[]"}, jsontext.Compact(v))
}

// loseProblems counts members that may say that a call failed, and that nobody named.
func loseProblems(r *importers.Record, o jsontext.Object) {
	for _, f := range o {
		named := slices.ContainsFunc(fields, func(x importers.Field) bool { return r.Column(x.Name) == f.Key })
		if !named && !empty(f.Raw) && problem.MatchString(f.Key) {
			r.Lose(f.Key, "it may say that the call failed: --map error="+f.Key+" reads it so")
		}
	}
}

var problem = regexp.MustCompile(`(?i)error|exception|failure`)

// body reads the body of a request.
func body(field string, v []byte) jsontext.Object {
	o := must.Object(field, unpacked(v))
	if o == nil {
		must.Fail("it has no %s", field)
	}
	return o
}

// unpacked returns the JSON that a text is, and all else unchanged.
func unpacked(v []byte) []byte {
	if text := []byte(strings.TrimSpace(jsontext.Unquote(v))); len(text) > 0 && jsontext.Valid(text) {
		return text
	}
	return v
}

// prompts are the members of requests with their prompts.
var prompts = map[*apis.API]string{apis.Chat: "messages", apis.Messages: "messages", apis.Responses: "input",
	apis.Completions: "prompt"}

// apiOf returns the API that a request speaks: that of its path, else that of its answer. A prompt without messages
// tells, too. Of a call that failed, the APIs that are left may read the same of the request: it is one of the first.
func apiOf(path string, request jsontext.Object, answered *apis.API) *apis.API {
	answered = cmp.Or(routed(path), answered)
	if answered == nil && path == "" {
		answered = alike(request)
	}
	switch {
	case answered == nil && path != "":
		route, _, _ := strings.Cut(path, "?") // keys may follow
		must.Fail("its path %q is that of no API with an answer of a model", route)
	case answered == nil:
		must.Fail("nothing tells which API it speaks: give its path, such as /v1%s or /v1%s",
			apis.Chat.Route, apis.Messages.Route)
	case !request.Has(prompts[answered]):
		must.Fail("it is a call of %s, but its request has no %q", answered.Name, prompts[answered])
	}
	return answered
}

// routed returns the API that is called at a path or URL; nil if it is none of these.
func routed(path string) *apis.API {
	path, _, _ = strings.Cut(path, "?")
	for _, a := range apis.All { // the route of chat completions, which ends in that of completions, comes first
		if strings.HasSuffix(strings.TrimSuffix(path, "/"), a.Route) {
			return a
		}
	}
	return nil
}

// alike returns the first of the APIs that can read a request, if they read the same; else nil. An input of texts is
// that of embeddings, too.
func alike(request jsontext.Object) (first *apis.API) {
	var read *apis.Request
	for _, a := range apis.All {
		v := request.Get(prompts[a])
		if len(v) == 0 || v[0] == '{' || a == apis.Responses && !bytes.HasPrefix(v, []byte("[{")) {
			continue
		}
		q, err := apis.ParseRequest(a, request.Bytes(), &apis.StoredResponses{})
		switch {
		case err != nil:
		case read == nil:
			first, read = a, q
		case q.Tools != read.Tools || !reflect.DeepEqual(q.Messages, read.Messages):
			return nil
		}
	}
	return first
}
