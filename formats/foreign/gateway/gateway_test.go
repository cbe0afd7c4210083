package gateway

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
)

const made = "../../../testdata/importers/litellm/"

// The files of LiteLLM 1.108.7 are those of its callback, without prices (turns: the members that matter, chunks: of streams alone); the others are written to the APIs' references.
func TestLiteLLM(t *testing.T) {
	foreigntest.Importer(t, LiteLLM, importers.Options{}, made+"calls.jsonl", made+"retry.jsonl", made+"turns.jsonl", made+"chunks.jsonl")
}

func TestCalls(t *testing.T) {
	foreigntest.Importer(t, Calls, importers.Options{}, "testdata/plain.jsonl")
}

// TestSessionsAreValues: a number is another session than its text.
func TestSessionsAreValues(t *testing.T) {
	for session, want := range map[string]string{`5`: "5", `"5"`: `"5"`, `""`: "", `null`: ""} {
		x, why := row(Calls, `{"session":`+session+`,"request":{"messages":`+hi+`},"response":`+says+`}`)
		if got := jsontext.ParseObject([]byte(x.Metadata)).Get("session"); why != "" || string(got) != want {
			t.Errorf("%s: %s %s", session, x.Metadata, why)
		}
	}
}

// TestTheEnginesID is known of bodies and streams of all APIs.
func TestTheEnginesID(t *testing.T) {
	for response, want := range map[string]string{
		says: "",
		strings.Replace(says, "{", `{"id":"r",`, 1):                                                                           "r",
		`[{"id":"r","model":"m","choices":[{"index":0,"delta":{"content":"A"},"finish_reason":"stop"}]}]`:                     "r",
		`[{"type":"message_start","message":{"id":"r","type":"message"}},{"type":"message_stop"}]`:                            "r",
		`[{"type":"response.created","response":{"id":"r"}},{"type":"response.completed","response":{"id":"r","output":[]}}]`: "r",
	} {
		for format, record := range map[*importers.Format]string{
			&Calls:   `{"request":{"messages":` + hi + `,"input":"hi"},"response":` + response + `}`,
			&LiteLLM: `{"messages":` + hi + `,"model_parameters":{},"call_type":"acompletion","status":"success","response":` + response + `}`,
		} {
			if p := format.Convert(importers.Record{Data: []byte(record)}); p.Err != nil || p.Items[0].ResponseID != want {
				t.Errorf("%s %s: %v %+v", format.Name, response, p.Err, p.Items)
			}
		}
	}
}

func FuzzLiteLLM(f *testing.F) {
	fuzz(f, LiteLLM, made+"calls.jsonl", made+"retry.jsonl", made+"turns.jsonl", made+"chunks.jsonl")
}
func FuzzCalls(f *testing.F) { fuzz(f, Calls, "testdata/plain.jsonl") }

func fuzz(f *testing.F, format importers.Format, paths ...string) {
	var seeds [][]byte
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		seeds = append(seeds, bytes.Split(data, []byte("\n"))...)
	}
	foreigntest.Fuzz(f, format, importers.Options{}, "f.jsonl", seeds...)
}

// row imports a record; why is its refusal, or what it cannot represent.
func row(format importers.Format, record string) (row formats.Trajectory, why string) {
	p := format.Convert(importers.Record{Data: []byte(record)})
	switch {
	case p.Err != nil:
		return row, p.Err.Error()
	case len(p.Losses) > 0:
		return p.Items[0].Row, p.Losses[0].String()
	}
	return p.Items[0].Row, ""
}

const (
	hi   = `[{"role":"user","content":"hi"}]`
	says = `{"object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"A"},"finish_reason":"stop"}]}`
)

// TestTheAPIIsTold by the path or by members that one API alone has, or the record is refused.
func TestTheAPIIsTold(t *testing.T) {
	for record, want := range map[string]string{
		`{"request":{"messages":` + hi + `},"error":"x"}`:                                                                           "chat",
		`{"request":{"messages":` + hi + `},"response":{"error":{"message":"x"}}}`:                                                  "chat",
		`{"request":{"messages":` + hi + `},"response":null}`:                                                                       "chat",
		`{"request":{"messages":` + hi + `}}`:                                                                                       "chat",
		`{"request":{"messages":` + hi + `,"tools":[{"type":"function","function":{"name":"f"}}]},"error":"x"}`:                     "chat",
		`{"request":{"messages":` + hi + `,"tools":[{"name":"f","input_schema":{}}]},"error":"x"}`:                                  "nothing tells which API it speaks",
		`{"request":{"system":"s","messages":` + hi + `},"error":"x"}`:                                                              "nothing tells which API it speaks: give its path",
		`{"request":{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}]},"error":"x"}`: "nothing tells which API it speaks",
		`{"request":{"input":[{"role":"user","content":"hi"}]},"error":"x"}`:                                                        "responses",
		`{"request":{"messages":` + hi + `},"response":{"type":"error","error":{"message":"x"}}}`:                                   "messages",
		`{"request":{"messages":` + hi + `},"response":` + says + `}`:                                                               "chat",
		`{"path":"/v1/messages","request":{"messages":` + hi + `},"error":"x"}`:                                                     "messages",
		`{"path":"http://h/openai/deployments/d/chat/completions?v=1","request":{"messages":` + hi + `},"error":"x"}`:               "chat",
		`{"path":"/v1/completions/","request":{"prompt":"hi"},"error":"x"}`:                                                         "completions",
		`{"path":"/v1/embeddings","request":{"input":"hi"},"error":"x"}`:                                                            `its path "/v1/embeddings" is that of no API with an answer of a model`,
		`{"path":"/v1/messages","request":{"input":"hi"},"error":"x"}`:                                                              `it is a call of messages, but its request has no "messages"`,
		`{"request":{"input":"hi"},"error":"x"}`:                                                                                    "nothing tells which API it speaks",
		`{"request":{"input":"hi"},"response":{"object":"list","data":[{"embedding":[0.5]}]}}`:                                      "not an answer or an event stream of a known API",
		`{"request":{"prompt":"hi"},"error":"x"}`:                                                                                   "completions",
		`{"request":{"prompt":{"id":"p"}},"error":"x"}`:                                                                             "nothing tells which API it speaks",
		`{"request":{"prompt":"hi"},"response":` + says + `}`:                                                                       `it is a call of chat, but its request has no "messages"`,
		`{"request":{"contents":[]},"response":{"candidates":[]}}`:                                                                  "not an answer or an event stream of a known API",
		`{"request":{"messages":` + hi + `},"response":"<html>"}`:                                                                   "not an answer or an event stream of a known API",
		`{"response":` + says + `}`:                                                                                                 "it has no request",
		`{"path":"/v1/responses","request":{"input":"hi","previous_response_id":"resp_1"},"error":"x"}`:                             `this trajectory has no response "resp_1"`,
		`{"request":{"messages":` + hi + `},"response":{"type":"message","content":[{"type":"server_tool_use"}]}}`:                  `a block of type "server_tool_use"`,
		`{"request":{"input":"hi"},"response":{"object":"response","output":[{"type":"web_search_call"}]}}`:                         `an item of type "web_search_call"`,
	} {
		got, why := row(Calls, record)
		api := ""
		if why == "" {
			if api = "chat"; strings.Contains(got.Calls[0].Sampling, `"api"`) {
				_, api, _ = strings.Cut(got.Calls[0].Sampling, `"api":"`)
				api, _, _ = strings.Cut(api, `"`)
			}
		}
		if !strings.Contains(why+api, want) || (why == "") != (api == want) {
			t.Errorf("%s\n is %q %s, want %s", record, api, why, want)
		}
	}
}

// TestWhatIsNoWholeAnswer is a failed or truncated call, or cannot be represented.
func TestWhatIsNoWholeAnswer(t *testing.T) {
	chunk := strings.Replace(says, `"message"`, `"delta"`, 1)
	text := func(s string) string { return string(importers.Quote(s)) }
	for members, want := range map[string]string{
		`"error":{"message":"x"},"response":` + says:                       `failed engine "x"`,
		`"error":{"code":5},"response":` + says:                            `failed engine`,
		`"error":"x","response":` + says:                                   `failed engine "x"`,
		`"error":true,"response":` + says:                                  `error is "true", not a text`,
		`"error":null,"response":` + says:                                  ` ok  ""`,
		`"error":{},"response":` + says:                                    ` ok  ""`,
		`"error_message":"x","response":` + says:                           "it may say that the call failed: --map error=error_message reads it so",
		`"exception":{"type":"Timeout"},"response":` + says:                "it may say that the call failed",
		`"error_message":null,"response":` + says:                          ` ok  ""`,
		`"status":500,"response":{"detail":"x"}`:                           `failed engine "x"`,
		`"status":404,"response":{"message":"x"}`:                          `failed engine_refused "x"`,
		`"status":404,"response":"{\"message\":\"x\"}"`:                    `failed engine_refused "x"`,
		`"status":502,"response":"bad gateway"`:                            `failed engine "bad gateway"`,
		`"status":500,"response":` + says:                                  `failed engine`,
		`"status":302,"response":` + says:                                  `failed engine`,
		`"status":200,"response":` + says:                                  ` ok  ""`,
		`"response":{"choices":[]}`:                                        `failed engine "the answer has no choices"`,
		`"response":{"choices":[],"error":{"message":"x"}}`:                `failed engine "the engine reported: x"`,
		`"response":` + strings.Replace(says, `"stop"`, `null`, 1):         `failed unfinished`,
		`"response":` + strings.Replace(says, `"stop"`, `"length"`, 1):     "truncated",
		`"response":` + text(says[:len(says)-20]):                          `failed engine "the answer is cut`,
		`"response":` + text("data: "+chunk+"\n\n"):                        ` ok  ""`,
		`"response":` + text("data: "+chunk+"\n\ndata: [DONE]"):            ` ok  ""`,
		`"response":` + text("data: "+chunk[:len(chunk)-20]):               `failed engine "the answer is cut`,
		`"response":` + text("data: "+chunk+"\n\ndata: {\"choices\":"):     `failed engine "the answer is cut`,
		`"response":[` + strings.Replace(chunk, `"stop"`, `null`, 1) + `]`: `failed engine "the stream broke off`,
	} {
		got, why := row(Calls, `{"request":{"messages":`+hi+`},`+members+`}`)
		if text := fmt.Sprintf("%s %s %s %q", why, got.Status, got.FailureClass, got.Error); !strings.Contains(text, want) {
			t.Errorf("%s\n is %s, want %s", members, text, want)
		}
	}
	if _, why := row(Calls, `{"request":{"messages":[]},"response":`+says+`}`); !strings.Contains(why, `its request has no prompt: its "messages" is empty`) {
		t.Error(why)
	}
}

// TestTimesAreToldByTheirType: numbers are seconds, texts are ISO 8601; all else is refused.
func TestTimesAreToldByTheirType(t *testing.T) {
	for v, want := range map[string]string{
		`1795984477.5`: "1795984477500000", `"2026-11-29T20:34:37.5Z"`: "1795984477500000", `null`: "0",
		`1795984477500`: "not a number of seconds since 1970", `"1795984477"`: "not a time of ISO 8601", `"not a time"`: "not a time of ISO 8601", `[]`: "not a finite number", `-1`: "not a number of seconds", `true`: "not a finite number",
	} {
		got, why := row(Calls, `{"started_at":`+v+`,"request":{"messages":`+hi+`},"response":`+says+`}`)
		if text := fmt.Sprint(got.StartedAt, why); !strings.Contains(text, want) {
			t.Errorf("%s is %s, want %s", v, text, want)
		}
	}
	if _, why := row(Calls, `{"started_at":5,"finished_at":4,"request":{"messages":`+hi+`},"response":`+says+`}`); !strings.Contains(why, "finished_at is before started_at") {
		t.Error(why)
	}
}

// logRecord is a record of LiteLLM with some members replaced.
func logRecord(members string) string {
	o := jsontext.ParseObject([]byte(`{"litellm_call_id":"c","call_type":"acompletion","status":"success","model":"openai/m","model_group":"m","model_parameters":{},` +
		`"messages":` + hi + `,"response":` + says + `,"startTime":1795984477.5,"endTime":1795984478}`))
	for _, f := range jsontext.ParseObject([]byte("{" + members + "}")) {
		o.Set(f.Key, f.Raw)
	}
	return string(o.Bytes())
}

// TestWhatLiteLLMsRecordsLack is named: the members below replace those of a plain record.
func TestWhatLiteLLMsRecordsLack(t *testing.T) {
	for members, want := range map[string]string{
		`"messages":[{"role":"user","content":"redacted-by-litellm"}]`:           "LiteLLM redacted its messages",
		`"response":{"choices":[{"message":{"content":"redacted-by-litellm"}}]}`: "LiteLLM redacted its messages",
		`"status":"failure","response":{"text":"redacted-by-litellm"}`:           "LiteLLM redacted its messages",
		`"call_type":"aembedding"`:                            `its call_type is "aembedding", not a call of a model for text`,
		`"call_type":"anthropic_messages"`:                    "leaves out its system prompt",
		`"status":"pending"`:                                  `its status is "pending"`,
		`"startTime":1795984477500`:                           "startTime is \"1795984477500\", not a number of seconds",
		`"messages":"hi"`:                                     "messages is",
		`"call_type":5`:                                       "call_type is \"5\", not a text",
		`"call_type":null`:                                    ` ok  ""`,
		`"call_type":null,"status":null`:                      ` ok  ""`,
		`"call_type":null,"status":"failure","response":null`: `failed engine "the log has no text of the error"`,
		`"call_type":null,"status":"failure","response":{"detail":"x"}`:                                              `failed engine "the log has no text of the error"`,
		`"call_type":null,"response":{},"status":"failure","metadata":{"user_api_key_request_route":"/v1/messages"}`: "leaves out its system prompt",
		`"status":null,"error_str":"x"`:                               `failed engine "x"`,
		`"status":null,"response":null`:                               `failed engine "the log has no response to it"`,
		`"error_information":{"error_message":"x"}`:                   `failed engine "x"`,
		`"startTime":"not a time"`:                                    "not a time of ISO 8601",
		`"endTime":{}`:                                                "endTime is",
		`"startTime":null,"endTime":null`:                             ` ok  ""`,
		`"messages":[]`:                                               "its request has no prompt",
		`"response":null`:                                             `failed engine "the log has no response to it"`,
		`"status":"failure","response":{},"error_str":"no such host"`: `failed engine "no such host"`,
		`"status":"failure","response":{},"error_information":{"error_code":"400","error_message":"bad"}`:                              `failed engine_refused "bad"`,
		`"status":"failure","response":{},"error_information":{"error_code":"boom","normalized_error":"500_X","error_message":"boom"}`: `failed engine "boom"`,
		`"status":"failure","response":{},"stream":true,"error_str":"cut"`:                                                             `failed engine "cut (LiteLLM's record has no text of a stream that broke off)"`,
		`"stream":true`: "LiteLLM's record of a stream has neither token ids nor logprobs",
		`"stream":true,"error_str":"Client disconnected the request","error_information":{"error_code":"499","error_class":"ClientDisconnected"}`: `failed abandoned "Client disconnected the request"`,
		`"cache_hit":true`: `"cache_hit":true`,
		`"response":` + strings.Replace(says, "stop", "length", 1): "truncated",
		`"response_cost":0.25,"trace_id":"t"`:                      `"response_cost":0.25`,
	} {
		got, why := row(LiteLLM, logRecord(members))
		text := fmt.Sprintf("%s %s %s %q %s", why, got.Status, got.FailureClass, got.Error, got.Metadata)
		if !strings.Contains(text, want) {
			t.Errorf("%s\n is %s, want %s", members, text, want)
		}
		if strings.Contains(members, "cache") && (got.Calls[0].Target || got.Calls[0].Attempts != 0) {
			t.Errorf("an answer of the cache trains: %+v", got.Calls[0])
		}
		if got.Status == "failed" && (len(got.Messages) != 1 || len(got.Calls) != 1 || got.Calls[0].Error != got.Error) {
			t.Errorf("%s: %+v", members, got)
		}
	}
}

// TestSpendLogs are read by LiteLLM's schema: times of ISO 8601, and the request as it came or not at all.
func TestSpendLogs(t *testing.T) {
	const record = `{"request_id":"chatcmpl-1","litellm_call_id":"c","call_type":"acompletion","spend":0.5,"startTime":"2026-11-29T20:34:37.5Z","endTime":"2026-11-29T20:34:38Z","api_base":"http://u:p@engine/v1?key=1","status":"success","messages":{},"session_id":"s","cache_hit":"False",`
	got, why := row(LiteLLM, record+`"proxy_server_request":{"model":"m","messages":`+hi+`},"response":`+says+`}`)
	if why != "" || got.TrajectoryID != "c" || got.StartedAt != 1795984477500000 || got.Calls[0].LatencyMS != 500 || got.Calls[0].Endpoint != "" || !strings.Contains(got.Metadata, `"spend":0.5`) {
		t.Errorf("%s %+v", why, got)
	}
	if _, why := row(LiteLLM, record+`"proxy_server_request":{},"response":{}}`); !strings.Contains(why, "store_prompts_in_spend_logs") {
		t.Error(why)
	}
	if got, why := row(LiteLLM, record+`"proxy_server_request":"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}","response":"{}"}`); why != "" || got.Status != "failed" {
		t.Errorf("%s %+v", why, got)
	}
}

// TestChunksOfAStream: they have what the record of their call lacks.
func TestChunksOfAStream(t *testing.T) {
	line := func(record, end, text string) string {
		return fmt.Sprintf(`{"litellm_call_id":"c","end":%q,"chunks":[{"model":"m","prompt_token_ids":[1],"choices":[{"index":0,"delta":{"content":%q},"token_ids":[7],"logprobs":{"content":[{"token":"x","logprob":-0.5}]},"finish_reason":"stop"}]}],%s}`, end, text, record)
	}
	record := func(members string) string { return `"standard_logging_object":` + logRecord(members) }
	for name, c := range map[string]struct{ line, want string }{
		"with its record": {line(record(`"stream":true`), "complete", "A"), "ok [7]"},
		"without request": {line(`"request":null`, "complete", "A"), "it has no request"},
		"alone, broken":   {line(`"request":{"model":"m","messages":`+hi+`}`, "ReadError", "A"), "failed engine the stream has no end: ReadError"},
		"of a failure":    {line(record(`"status":"failure","response":{},"error_str":"boom"`), "APIConnectionError", "A"), "failed boom"},
		"alone":           {line(`"request":{"model":"m","messages":`+hi+`}`, "complete", "A"), "ok [7]"},
		"the agent left":  {line(record(`"stream":true`), "closed by the agent", "A"), "failed abandoned the stream has no end: closed by the agent"},
		"broken off":      {line(record(`"stream":true`), "ReadError", "A"), "failed engine the stream has no end: ReadError"},
	} {
		got, why := row(LiteLLM, c.line)
		text := why
		if why == "" {
			text = strings.Replace(fmt.Sprint(got.Status, " ", got.FailureClass, " ", got.Error), "failed engine boom", "failed boom", 1)
			if got.Status == "ok" {
				text = fmt.Sprint("ok ", got.Messages[1].TokenIDs)
			}
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}
