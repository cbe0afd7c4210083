package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestCheckNamesAGatewayThatDropsTokenIDs, and finds the ids that another one moves. The answers are those of Bifrost's core
// 1.5.0 and of LiteLLM 1.106.2.
func TestCheckNamesAGatewayThatDropsTokenIDs(t *testing.T) {
	const logprobs = `"logprobs":{"content":[{"bytes":[97],"logprob":-0.1,"token":"a","top_logprobs":[]}]}`
	for body, want := range map[string]string{
		`{"choices":[{"index":0,"finish_reason":"stop",` + logprobs + `,"message":{"role":"assistant","content":"a"}}],"model":"m","usage":{"prompt_tokens":1,"completion_tokens":1},"extra_fields":{"request_type":"chat_completion","provider":"openai","model_requested":"m","latency":1,"chunk_index":0}}`: "Bifrost drops those of the engine behind it",
		`{"choices":[{"index":0,"finish_reason":"stop",` + logprobs + `,"message":{"role":"assistant","content":"a"},"token_ids":null}],"model":"m"}`:                                                                                                                                                          "some gateways drop them",
		`{"choices":[{"index":0,"finish_reason":"stop",` + logprobs + `,"message":{"role":"assistant","content":"a"},"provider_specific_fields":{"token_ids":[7]}}],"model":"m"}`:                                                                                                                              "with logprobs, with token ids",
		`{"choices":[{"index":0,"finish_reason":"stop",` + logprobs + `,"message":{"role":"assistant","content":"a","provider_specific_fields":{"generation_token_ids":[7]}}}],"model":"m"}`:                                                                                                                   "with logprobs, with token ids",
	} {
		engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, body)
		}))
		if found, err := tryEngine(t.Context(), engine.URL+"/v1", "", "m"); err != nil || !strings.Contains(found, want) {
			t.Errorf("%s: %q, %v; want %q", body, found, err, want)
		}
		engine.Close()
	}
}
