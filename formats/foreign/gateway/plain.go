package gateway

import (
	"cmp"
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
	Name: "calls",
	Help: `requests to a model and their answers, as any proxy logs them: {"request": ..., "response": ...}`,
	Spec: "OpenAI's Chat Completions, Completions and Responses, and Anthropic's Messages",
	Fields: []importers.Field{
		{Name: "request", Help: "the request's body: an object, or its text"},
		{Name: "response", Help: "the answer: an object, its text, the text of a stream's events, or the list of its chunks"},
		{Name: "id", Help: "the call's own id, the same in all its tries and copies"},
		{Name: "session", Help: "what names the conversation; kept in metadata as session"},
		{Name: "started_at", Help: "when the request came: seconds since 1970, or a text of ISO 8601"},
		{Name: "finished_at", Help: "when the answer ended"},
		{Name: "status", Help: "the answer's HTTP status"},
		{Name: "error", Help: "why there is no answer: a text, or an object with a message"},
		{Name: "path", Help: "the path or URL of the request, which tells the API where no answer does"},
	},
	Extensions: []string{".jsonl", ".json", ".ndjson", ".parquet"},
	Columns:    true,
	Log:        true,
	Records:    importers.Rows,
}.ParsedBy(parsePlain)

func parsePlain(r *importers.Record) ([]importers.Item, error) {
	o := value.Object(r, r.Data)
	get := func(field string) []byte { return o.Get(r.Column(field)) }
	status, response, problem, text := int64(0), get("response"), get("error"), ""
	if n := must.Whole("status", get("status")); n != nil {
		status = *n
	}
	page := jsontext.Unquote(response)
	if status >= 400 && page != "" && !jsontext.Valid([]byte(page)) { // of a server between
		response, text = nil, page
	}
	c := call{id: must.ID("id", get("id")), request: body("request", get("request")),
		answer: receive("response", response), times: span(o, r.Column("started_at"), r.Column("finished_at"))}
	c.api = apiOf(must.Text("path", get("path")), c.request, c.answer.api)
	if len(c.answer.data) == 1 && c.answer.data[0].Has("error") && status >= 400 {
		text = completion.ErrorText(c.answer.data[0].Bytes())
	}
	if len(problem) > 0 && string(problem) != "null" {
		text = cmp.Or(completion.ErrorText(jsontext.Object{{Key: "error", Raw: problem}}.Bytes()), text)
	}
	if text != "" || status >= 400 {
		c.failure = refusedBy(status, text)
	}
	if session := must.ID("session", get("session")); session != "" {
		c.meta.Add("session", importers.Quote(session))
	}
	c.keepNamed(r, o)
	return []importers.Item{c.item()}, nil
}

// body reads the body of a request.
func body(field string, v []byte) jsontext.Object {
	if text := []byte(strings.TrimSpace(jsontext.Unquote(v))); len(text) > 0 && jsontext.Valid(text) {
		v = text
	}
	o := must.Object(field, v)
	if o == nil {
		must.Fail("it has no %s", field)
	}
	return o
}

// prompts are the members of requests with their prompts.
var prompts = map[*apis.API]string{apis.Chat: "messages", apis.Messages: "messages", apis.Responses: "input",
	apis.Completions: "prompt"}

// apiOf returns the API that a request speaks: that of its path, else that of its answer. A prompt without messages
// tells, too.
func apiOf(path string, request jsontext.Object, answered *apis.API) *apis.API {
	route, _, _ := strings.Cut(path, "?")
	for _, a := range apis.All { // the route of chat completions, which ends in that of completions, comes first
		if strings.HasSuffix(strings.TrimSuffix(route, "/"), a.Route) {
			answered = a
			break
		}
	}
	if prompt := request.Get("prompt"); answered == nil && path == "" && len(prompt) > 0 && prompt[0] != '{' {
		answered = apis.Completions
	}
	switch {
	case answered == nil && path != "":
		must.Fail("its path %q is that of no API with an answer of a model", route)
	case answered == nil:
		must.Fail("nothing tells which API it speaks: give its path, such as /v1%s or /v1%s",
			apis.Chat.Route, apis.Messages.Route)
	case !request.Has(prompts[answered]):
		must.Fail("it is a call of %s, but its request has no %q", answered.Name, prompts[answered])
	}
	return answered
}
