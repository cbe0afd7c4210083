package gateway

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/secret"
)

// LiteLLM reads what LiteLLM's proxy logs: its StandardLoggingPayload as callbacks, generic_api and the S3 loggers
// write it, and rows of LiteLLM_SpendLogs with their requests.
//
// A row's id is litellm_call_id, which all tries of a request share. The trace_id is the agent's session only where the
// agent gave one, and else new with each call; so it is in metadata, for --merge-by, and joins nothing by itself.
//
// A record of a stream has neither ids nor logprobs. Its chunks have them, which pipelines/traces/rollmill_log.py puts
// beside the record of the same call. Alone they are a call with the same id.
var LiteLLM = importers.Format{
	Name: "litellm",
	Help: "request logs of LiteLLM's proxy: of a callback, generic_api, its S3 loggers or its table of spend logs",
	Spec: "BerriAI/litellm: litellm/types/utils.py (StandardLoggingPayload), " +
		"litellm/proxy/schema.prisma (LiteLLM_SpendLogs)",
	Extensions: []string{".jsonl", ".json", ".ndjson", ".parquet"},
	Log:        true,
	Records:    importers.Rows,
}.ParsedBy(parseLiteLLM)

func parseLiteLLM(r *importers.Record) ([]importers.Item, error) {
	line := value.Object(r, r.Data)
	o := line
	if line.Has("standard_logging_object") {
		o = must.Object("standard_logging_object", line.Get("standard_logging_object"))
	}
	var c call
	switch {
	case o.Has("model_parameters") && o.Has("messages"):
		c = logged(r, o)
	case o.Has("proxy_server_request"):
		c = spent(o)
	case line.Has("chunks"): // beside the record of the same id
		c = call{request: body("request", o.Get("request"))}
		c.api = apiOf("", c.request, receive("chunks", o.Get("chunks"), true).api)
		if c.api == apis.Messages && !c.request.Has("system") {
			r.Lose("request", "a call of /v1/messages without its system prompt")
		}
	case jsontext.Unquote(o.Get("event")) == "proxy_failure":
		must.Fail("it is the line of a failure hook, which has no request; the failure's own record has it")
	default:
		must.Fail("it is not a StandardLoggingPayload: it has no messages and model_parameters")
	}
	if c.failure == nil && line.Has("chunks") {
		c.streamed(line)
	}
	for _, name := range strings.Fields("trace_id session_id call_type model_group custom_llm_provider " +
		"response_cost spend") {
		if v := o.Get(name); string(v) != `""` {
			c.meta.Add(name, v)
		}
	}
	if c.cached = slices.Contains([]string{"true", `"True"`}, string(o.Get("cache_hit"))); c.cached {
		c.meta.Add("cache_hit", []byte("true"))
	}
	if c.endpoint = must.Text("api_base", o.Get("api_base")); secret.InURL(c.endpoint) != nil {
		c.endpoint = ""
	}
	c.id = must.Text("litellm_call_id", o.Get("litellm_call_id"))
	c.keepNamed(r, o)
	return []importers.Item{c.item()}, nil
}

// streamed takes the answer of the chunks of a stream.
func (c *call) streamed(o jsontext.Object) {
	if end := must.Text("end", o.Get("end")); end != "complete" {
		status := int64(0)
		if end == "closed by the agent" {
			status = 499
		}
		c.failure = refusedBy(status, "the stream has no end: "+end)
	}
	c.answer, c.noTokens = receive("chunks", o.Get("chunks"), false), ""
}

// logged reads a StandardLoggingPayload.
func logged(r *importers.Record, o jsontext.Object) call {
	refuseRedacted(o)
	c := call{times: span(o, "startTime", "endTime")}
	c.end(o.Get("status"), o)
	c.answer = receive("response", o.Get("response"), c.failure != nil)
	route := jsontext.Unquote(jsontext.ParseObject(o.Get("metadata")).Get("user_api_key_request_route"))
	c.ask(r, cmp.Or(typeOf(o), routed(route), c.answer.api, apis.Chat), o)
	if jsontext.IsTrue(o.Get("stream")) || jsontext.IsTrue(c.request.Get("stream")) {
		c.noTokens = "LiteLLM's record of a stream has neither token ids nor logprobs; its chunks have them"
		if jsontext.Unquote(o.Get("status")) == "failure" {
			c.failure.Text += " (LiteLLM's record has no text of a stream that broke off)"
		}
	}
	return c
}

// end sets how a call ended. That of a stream that its agent left is a success, with what was sent so far and a finish
// reason that no engine gave; only its error tells. Trimmed records may have no status.
func (c *call) end(status []byte, o jsontext.Object) {
	f := failureOf(o)
	switch text := must.Text("status", status); {
	case !slices.Contains([]string{"success", "failure", ""}, text):
		must.Fail(`its status is %q, neither "success" nor "failure"`, text)
	case text == "failure" || f.Text != noText:
		c.failure = f
	}
}

// typeOf returns the API that a record names; nil if it has no call_type, as older and trimmed ones.
func typeOf(o jsontext.Object) *apis.API {
	kind := must.Text("call_type", o.Get("call_type"))
	if callTypes[kind] == nil && kind != "" {
		must.Fail("its call_type is %q, not a call of a model for text", kind)
	}
	return callTypes[kind]
}

// callTypes are the APIs of LiteLLM's calls.
var callTypes = map[string]*apis.API{"completion": apis.Chat, "acompletion": apis.Chat,
	"text_completion": apis.Completions, "atext_completion": apis.Completions,
	"responses": apis.Responses, "aresponses": apis.Responses, "anthropic_messages": apis.Messages}

// ask sets the request that LiteLLM took apart.
func (c *call) ask(r *importers.Record, api *apis.API, o jsontext.Object) {
	prompt, list := "messages", must.List("messages", o.Get("messages"))
	given := must.Object("model_parameters", o.Get("model_parameters"))
	first := jsontext.Object(nil)
	for m := range jsontext.Elements(list) {
		first = jsontext.ParseObject(m)
		break
	}
	switch c.api = api; api {
	case apis.Completions:
		prompt, list = "prompt", first.Get("content")
	case apis.Responses:
		prompt = "input"
	case apis.Messages:
		if !given.Has("instructions") && jsontext.Unquote(first.Get("role")) != "system" {
			r.Lose("messages", "LiteLLM's record of a call of /v1/messages leaves out its system prompt")
		}
	}
	model := cmp.Or(must.Text("model_group", o.Get("model_group")), must.Text("model", o.Get("model")))
	c.request = jsontext.Object{{Key: "model", Raw: importers.Quote(model)}, {Key: prompt, Raw: value.OrNull(list)}}
	for _, f := range given {
		switch {
		case f.Key == "model" || f.Key == prompt:
		case f.Key == "instructions" && c.api == apis.Messages: // of the Responses API, to which LiteLLM translated it
			c.request.Set("system", f.Raw)
		case f.Key == "tools" && c.api == apis.Messages: // those of the API that it called
			c.tools = f.Raw
		default:
			c.request.Set(f.Key, f.Raw)
		}
	}
}

const redacted = `"redacted-by-litellm"` // in place of each text

// refuseRedacted refuses a record of which LiteLLM took the texts.
func refuseRedacted(o jsontext.Object) {
	if strings.Contains(string(o.Get("messages"))+string(o.Get("response")), redacted) {
		must.Fail("LiteLLM redacted its messages (turn_off_message_logging): no turns are left to import")
	}
}

// failureOf reads why a call failed. Its code is the engine's own word for the error, where it has one.
func failureOf(o jsontext.Object) *completion.Failure {
	info := jsontext.ParseObject(unpacked(o.Get("error_information")))
	status := int64(0)
	for _, name := range []string{"error_code", "normalized_error"} {
		if digits, _, _ := strings.Cut(jsontext.Unquote(info.Get(name)), "_"); status == 0 && len(digits) == 3 {
			status = max(0, int64(completion.ParseCount([]byte(digits))))
		}
	}
	text := cmp.Or(must.Text("error_str", o.Get("error_str")), jsontext.Unquote(info.Get("error_message")))
	if info == nil {
		text = cmp.Or(text, jsontext.Unquote(o.Get("error_information")))
	}
	return refusedBy(status, text)
}

// spent reads a row of LiteLLM_SpendLogs, which has the request as it came if LiteLLM was told to store it.
func spent(o jsontext.Object) call {
	request := o.Get("proxy_server_request")
	if empty(unpacked(request)) {
		must.Fail("it has no request: LiteLLM stores them with store_prompts_in_spend_logs")
	}
	c := call{times: span(o, "startTime", "endTime"), request: body("proxy_server_request", request), api: typeOf(o)}
	meta := jsontext.ParseObject(unpacked(o.Get("metadata")))
	status := o.Get("status")
	if empty(status) {
		status = meta.Get("status") // of older ones
	}
	c.end(status, meta)
	c.answer = receive("response", o.Get("response"), c.failure != nil)
	if c.api == nil {
		c.api = apiOf("", c.request, c.answer.api)
	}
	return c
}
