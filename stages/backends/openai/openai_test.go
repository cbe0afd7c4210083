package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/storage/fault"
)

// server answers chat requests with body and keeps the last request.
func server(t *testing.T, status int, body string) (url string, request *map[string]json.RawMessage) {
	t.Helper()
	request = &map[string]json.RawMessage{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			fmt.Fprint(w, `{"data":[{"id":"one"},{"id":"two"}]}`)
			return
		}
		if r.URL.Path == "/tokenize" {
			http.NotFound(w, r)
			return
		}
		data, _ := io.ReadAll(r.Body)
		*request = map[string]json.RawMessage{}
		json.Unmarshal(data, request)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1", request
}

const answered = `{"model":"m","choices":[{"finish_reason":"tool_calls","token_ids":[1,2],"message":{"role":"assistant","content":"hi","reasoning":"hm","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{ }"}}]},"logprobs":{"content":[{"token":"a","logprob":-1,"bytes":[104,105]}]}}],"prompt_token_ids":[9]}`

var question = []formats.Message{{Role: "user", Content: ""}}

func TestZeroTemperatureIsSent(t *testing.T) {
	url, request := server(t, 200, answered)
	fields := map[string]any{"temperature": 0, "top_p": 0.0, "top_k": 20, "return_token_ids": true}
	if _, err := (Client{}).Chat(context.Background(), nil, url, "k", "m", question, fields); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"temperature": "0", "top_p": "0", "top_k": "20", "return_token_ids": "true"} {
		if got := string((*request)[name]); got != want {
			t.Errorf("%s was sent as %q", name, got)
		}
	}
	// The trap itself: should go-openai mend it, the way round can go.
	data, _ := json.Marshal(openai.ChatCompletionRequest{Temperature: 0, TopP: 0})
	if strings.Contains(string(data), "temperature") {
		t.Error("go-openai sends a temperature of 0 now")
	}
}

func TestEmptyContentIsSent(t *testing.T) {
	url, request := server(t, 200, answered)
	if _, err := (Client{}).Chat(context.Background(), nil, url, "k", "m", question, nil); err != nil {
		t.Fatal(err)
	}
	if got := string((*request)["messages"]); got != `[{"role":"user","content":""}]` {
		t.Errorf("messages were sent as %s", got)
	}
	data, _ := json.Marshal(openai.ChatCompletionMessage{Role: "user"})
	if strings.Contains(string(data), "content") {
		t.Error("go-openai sends an empty content now")
	}
}

func TestUnknownFieldsAreRead(t *testing.T) {
	url, _ := server(t, 200, answered)
	m, err := Client{}.Chat(context.Background(), nil, url, "k", "m", question, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m.Content != "hi" || m.Reasoning != "hm" || m.FinishReason != "tool_calls" || len(m.ToolCalls) != 1 || m.ToolCalls[0].Arguments != "{ }" || !m.Sampled {
		t.Errorf("%+v", m)
	}
	var lossy openai.ChatCompletionResponse
	json.Unmarshal([]byte(answered), &lossy)
	data, _ := json.Marshal(lossy)
	if strings.Contains(string(data), "token_ids") || lossy.Choices[0].Message.ReasoningContent != "" {
		t.Error("go-openai keeps unknown fields now")
	}
	if !strings.Contains(string(data), `"bytes":"aGk="`) {
		t.Error("go-openai writes bytes as numbers now")
	}
}

func TestErrorsAreShort(t *testing.T) {
	for status, body := range map[int]string{400: `{"error":{"message":"too long","code":"x"}}`, 500: `<html>oops</html>`} {
		url, _ := server(t, status, body)
		_, err := Client{}.Chat(context.Background(), nil, url, "k", "m", question, nil)
		var e *Error
		if !errors.As(err, &e) || e.Status != status || e.Text == "" || strings.Contains(err.Error(), "status code") {
			t.Errorf("%v", err)
		}
	}
	for _, body := range []string{`{}`, `[]`, `{"choices":[]}`, ``} {
		url, _ := server(t, 200, body)
		if _, err := (Client{}).Chat(context.Background(), nil, url, "k", "m", question, nil); err == nil {
			t.Errorf("%q was taken for an answer", body)
		}
	}
}

func TestProbe(t *testing.T) {
	dead := httptest.NewServer(nil)
	dead.Close()
	for _, c := range []struct {
		name, body string
		status     int
		kind       fault.Kind
		says, hint string
	}{
		{"good", answered, 200, "", "", ""},
		{"dead", "", 0, fault.Temporary, "failed to connect to", "running"},
		{"no logprobs", `{"choices":[{"message":{"content":"x"},"logprobs":null}]}`, 200, fault.Failed, "no logprobs", "logprobs on"},
		{"not an engine", `<html>`, 200, fault.Failed, "does not answer with a chat completion", "/v1"},
		{"unknown model", `{"error":{"message":"no such model"}}`, 404, fault.Budget, `has no model "m", it serves "one", "two"`, "the model's name"},
		{"bad key", `{"error":{"message":"who are you"}}`, 401, fault.Budget, "refused the API key", "OPENAI_API_KEY"},
		{"unpaid", `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`, 429, fault.Budget, "refuses everybody", "pay the bill"},
		{"no credit", `{"error":{"message":"Your credit balance is too low","type":"invalid_request_error"}}`, 400, fault.Budget, "refuses everybody",
			"pay the bill"},
		{"busy", `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`, 429, fault.Temporary, "is not ready", "loading"},
		{"loading", `{"error":{"message":"loading"}}`, 503, fault.Temporary, "is not ready", "loading"},
		{"refuses logprobs", `{"error":{"message":"logprobs is not supported"}}`, 400, fault.Failed, "logprobs is not supported", "logprobs"},
	} {
		url := dead.URL + "/v1"
		if c.status != 0 {
			url, _ = server(t, c.status, c.body)
		}
		_, err := Probe(context.Background(), url, "k", "m")
		if c.kind == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		var e *fault.Error
		if !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(err.Error(), c.says) || !strings.Contains(fault.HintOf(e), c.hint) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	url, request := server(t, 200, answered)
	f, err := Client{}.Look(context.Background(), url, "k", "m")
	if err != nil || !f.TokenIDs || !f.PromptIDs || f.Model != "m" || len(f.Models) != 2 || string((*request)["max_tokens"]) != "1" {
		t.Errorf("%+v %v", f, err)
	}
}

// TestLookComparesThePrompt with what the engine's template gives the same messages, if it has a route for that.
func TestLookComparesThePrompt(t *testing.T) {
	for tokens, want := range map[string]*bool{"": nil, "[1,2,3]": new(true), "[1,2]": new(false)} {
		mux := http.NewServeMux()
		mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"model":"m","prompt_token_ids":[1,2,3],"choices":[{"token_ids":[4],"message":{"role":"assistant","content":"x"},`+
				`"logprobs":{"content":[{"token":"x","logprob":-1,"bytes":null,"top_logprobs":[]}]}}]}`)
		})
		if tokens != "" {
			mux.HandleFunc("POST /tokenize", func(w http.ResponseWriter, r *http.Request) {
				var q struct{ Messages []formats.Message }
				if err := json.NewDecoder(r.Body).Decode(&q); err != nil || len(q.Messages) != 1 {
					t.Error(err)
				}
				fmt.Fprintf(w, `{"count":3,"tokens":%s}`, tokens)
			})
		}
		s := httptest.NewServer(mux)
		f, err := Client{}.Look(t.Context(), s.URL+"/v1", "k", "m")
		if err != nil || !reflect.DeepEqual(f.Templated, want) {
			t.Errorf("%q: %v, %v", tokens, f.Templated, err)
		}
		s.Close()
	}
}
