package gateway

import (
	"cmp"

	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Calls reads rows with the bodies of one request and of its answer, under the names of its Fields.
var Calls = importers.Format{
	Name: "calls",
	Help: "requests to a model and their answers, as any proxy logs them: {\"request\": ..., \"response\": ...}",
	Spec: "OpenAI's Chat Completions, Completions and Responses, and Anthropic's Messages",
	Fields: []importers.Field{
		{Name: "request", Help: "the request's body: an object, or its text"},
		{Name: "response", Help: "the answer: an object, its text, the text of an event stream, or the list of a stream's chunks"},
		{Name: "id", Help: "the call's own id, the same in all its tries and copies"},
		{Name: "session", Help: "what names the conversation; kept in metadata for --merge-by session"},
		{Name: "started_at", Help: "when the request came: seconds since 1970, or a text of ISO 8601"},
		{Name: "finished_at", Help: "when the answer ended"},
		{Name: "status", Help: "the answer's HTTP status"},
		{Name: "error", Help: "why there is no answer: a text, or an object with a message"},
		{Name: "path", Help: "the path or URL of the request, which tells the API"},
	},
	Extensions: []string{".jsonl", ".json", ".ndjson", ".parquet"},
	Columns:    true,
	Log:        true,
	Records:    importers.Rows,
}.ParsedBy(parsePlain)

func parsePlain(r *importers.Record) ([]importers.Item, error) {
	o := value.Object(r, r.Data)
	get := func(field string) []byte { return o.Get(r.Column(field)) }
	status, response := must.Whole("status", get("status")), get("response")
	text := jsontext.Unquote(response)
	if status != nil && *status >= 400 && text != "" && !jsontext.Valid([]byte(text)) { // a page of a server between
		response = jsontext.Object{{Key: "error", Raw: response}}.Bytes()
	}
	c := call{id: must.ID("id", get("id")), request: body("request", get("request")), answer: receive("response", response),
		times: span(o, r.Column("started_at"), r.Column("finished_at"))}
	c.api = apiOf(must.Text("path", get("path")), c.request, c.answer.api)
	c.failure = plainFailure(&c.answer, status, get("error"))
	if session := must.ID("session", get("session")); session != "" {
		c.meta.Add("session", importers.Quote(session))
	}
	c.keepNamed(r, o)
	return []importers.Item{c.item()}, nil
}

// body reads the body of a request.
func body(field string, v []byte) jsontext.Object {
	if text := []byte(jsontext.Unquote(v)); len(text) > 0 && jsontext.Valid(text) {
		v = text[jsontext.Space(text, 0):]
	}
	o := must.Object(field, v)
	if o == nil {
		must.Fail("it has no %s", field)
	}
	return o
}

// plainFailure returns why a call was not answered; nil if it was, or if only its answer says so.
func plainFailure(r *received, status *int64, v []byte) *completion.Failure {
	code := int64(0)
	if status != nil {
		code = *status
	}
	text := r.failure()
	if len(v) > 0 && string(v) != "null" {
		text = cmp.Or(completion.ErrorText(jsontext.Object{{Key: "error", Raw: v}}.Bytes()), text)
	}
	if text == "" && code < 400 {
		return nil
	}
	return refusedBy(code, text)
}
