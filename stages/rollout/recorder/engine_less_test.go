package recorder_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
)

// lessTapes are answers, as llama-server and others give them, that have fewer
// logprobs than tokens, or none, or are no answers.
var lessTapes = map[string]struct {
	status  int
	request fields
	body    string
	class   string
	says    string
}{
	"merged": { // tokens that are no whole characters share an entry
		200, nil, `{"choices":[{"finish_reason":"length","index":0,"message":{"role":"assistant","content":"é"},"logprobs":{"content":[{"id":195,"token":"é","bytes":[195,169],"logprob":-4.5,"top_logprobs":[]}]}}],"model":"policy","usage":{"completion_tokens":2,"prompt_tokens":20}}`,
		outcomes.FailLogprobMismatch, "1 logprobs for 2 completion tokens",
	},
	"left out": { // nothing that could be decoded
		200, nil, `{"choices":[{"finish_reason":"length","index":0,"message":{"role":"assistant","content":""}}],"model":"policy","usage":{"completion_tokens":2,"prompt_tokens":20}}`,
		outcomes.FailNoLogprobs, "the engine gave no logprobs",
	},
	"null": {
		200, nil, `{"choices":[{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"a"},"logprobs":null}],"model":"policy","usage":{"completion_tokens":2,"prompt_tokens":20}}`,
		outcomes.FailNoLogprobs, "the engine gave no logprobs",
	},
	"an empty list": {
		200, nil, `{"choices":[{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"a"},"logprobs":{"content":[]}}],"model":"policy","usage":{"completion_tokens":2,"prompt_tokens":20}}`,
		outcomes.FailLogprobMismatch, "0 logprobs for 2 completion tokens",
	},
	"a tool call alone": { // no text, yet tokens
		200, nil, `{"choices":[{"finish_reason":"tool_calls","index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}}],"model":"policy"}`,
		outcomes.FailNoLogprobs, "the engine gave no logprobs",
	},
	"no end mark in a stream": {
		200, fields{"stream": true},
		"data: {\"choices\":[{\"finish_reason\":null,\"index\":0,\"delta\":{\"content\":\"y\"},\"logprobs\":{\"content\":[{\"id\":121,\"token\":\"y\",\"logprob\":-1.5}]}}],\"model\":\"policy\"}\n\ndata: {\"choices\":[{\"finish_reason\":\"stop\",\"index\":0,\"delta\":{}}],\"model\":\"policy\"}\n\ndata: {\"choices\":[],\"usage\":{\"completion_tokens\":2,\"prompt_tokens\":20}}\n\ndata: [DONE]\n\n",
		outcomes.FailLogprobMismatch, "1 logprobs for 2 completion tokens; from now on this engine is asked for whole answers, which agents get as streams",
	},
	"one of two choices counted": {
		200, fields{"n": 2}, `{"choices":[{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"a"},"logprobs":{"content":[{"id":97,"logprob":-1}]}},{"finish_reason":"stop","index":1,"message":{"role":"assistant","content":"b"},"logprobs":{"content":[{"id":98,"logprob":-1}]}}],"model":"policy","usage":{"completion_tokens":1,"prompt_tokens":20}}`,
		outcomes.FailLogprobMismatch, "2 logprobs for 1 completion tokens",
	},
	"entries without a logprob": {
		200, nil, `{"choices":[{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"a"},"logprobs":{"content":[{"id":97,"token":"a"}]}}],"model":"policy","usage":{"completion_tokens":1,"prompt_tokens":20}}`,
		outcomes.FailBadLogprobs, "logprob 0 is missing",
	},
	"refused with tools": {
		400, fields{"stream": true, "tools": []fields{{"type": "function", "function": fields{"name": "f"}}}},
		`{"error":{"code":400,"message":"logprobs is not supported with tools + stream","type":"invalid_request_error"}}`,
		outcomes.FailEngineRefused, "HTTP 400: logprobs is not supported with tools + stream",
	},
	"refused for good": {
		400, nil, `{"error":{"message":"this model does not give logprobs","type":"invalid_request_error","param":"logprobs","code":null}}`,
		outcomes.FailEngineRefused, "this model does not give logprobs",
	},
	"too long a prompt": {
		400, nil, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}`,
		outcomes.FailEngineRefused, "the request exceeds the available context size",
	},
}

// TestEnginesThatGiveLess: no logprobs are kept of such an answer, the
// trajectory says why, and the agent sees what the engine said all the same.
func TestEnginesThatGiveLess(t *testing.T) {
	for name, c := range lessTapes {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if strings.HasPrefix(c.body, "data:") {
					w.Header().Set("Content-Type", "text/event-stream")
				}
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			}))
			defer server.Close()
			r, err := recorder.New(recorder.Options{Settings: engines.Settings{Endpoints: []string{server.URL + "/v1"}, Retries: -1}, Defaults: apis.Defaults{Model: "policy"}})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			s := r.Begin(context.Background(), "t", "g")
			status, seen := ask(t, s, c.request, user("hi"))
			rec := s.End()
			why := rec.Untrainable
			if c.status != 200 {
				why = rec.LastCall
			}
			if why == nil || why.Class != c.class || !strings.Contains(why.Text, c.says) {
				t.Errorf("%+v, want %s: %s", why, c.class, c.says)
			}
			for _, m := range rec.Messages {
				if m.Logprobs != nil || m.TokenIDs != nil {
					t.Errorf("kept %v %v", m.TokenIDs, m.Logprobs)
				}
			}
			if status != c.status || c.status != 200 && string(seen) != c.body {
				t.Errorf("the agent sees %d %s", status, seen)
			}
			if c.status == 200 {
				checkRow(t, rec)
			}
		})
	}
}
