package recorder_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
)

// gated starts a recorder in front of an engine that notes each request. asked
// returns those since it was last called.
func gated(t *testing.T, allow ...string) (s *recorder.Session, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var list []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		for _, name := range []string{"X-Http-Method-Override", "X-Original-Url", "X-Rewrite-Url"} {
			if r.Header.Get(name) != "" {
				list = append(list, name)
			}
		}
		list = append(list, r.Method+" "+r.URL.EscapedPath())
		io.WriteString(w, said(`{"role":"assistant","content":"a"}`, "[1,2]", 7))
	}))
	t.Cleanup(server.Close)
	r, err := recorder.New(recorder.Options{Settings: engines.Settings{Endpoints: []string{server.URL + "/v1"}, APIKey: "engine-key", Retries: -1}, Defaults: apis.Defaults{Model: "policy"}, AllowPaths: allow})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	s = r.Begin(context.Background(), "t", "g")
	return s, func() []string {
		mu.Lock()
		defer mu.Unlock()
		out := list
		list = nil
		return out
	}
}

// Request sends a request whose path is not cleaned.
func Request(t *testing.T, s *recorder.Session, method, path, body string, header ...string) (status int, out []byte) {
	t.Helper()
	req, err := http.NewRequest(method, s.BaseURL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err = io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, out
}

// TestAnAgentReachesNoMoreThanItNeeds: an agent holds its attempt's token, and
// the engine gets the operator's key.
func TestAnAgentReachesNoMoreThanItNeeds(t *testing.T) {
	s, asked := gated(t)
	for _, line := range []string{"DELETE /models/ft:policy", "DELETE /files/f-1", "GET /files/f-1/content", "POST /fine_tuning/jobs", "POST /batches",
		"GET /organization/admin_api_keys", "POST /organization/admin_api_keys", "GET /chat/completions", "PUT /responses/resp_1", "DELETE /responses",
		"GET /responses", "POST /chat/completions/batch", "POST /chat/completions/tokens", "POST /load_lora_adapter", "POST /assistants", "PUT /embeddings",
		"GET /messages/batches", "POST /messages/batches", "POST /models", "GET /", "POST /sleep", "POST /chat/completions/", "POST /Chat/Completions",
		"POST /a%2fb"} {
		method, path, _ := strings.Cut(line, " ")
		status, out := Request(t, s, method, path, "{}")
		var v struct {
			Type  string
			Error struct{ Type, Message string }
		}
		if err := json.Unmarshal(out, &v); err != nil || status != 403 || v.Type != "error" || v.Error.Type != "permission_error" ||
			!strings.Contains(v.Error.Message, "--allow-path") {
			t.Errorf("%s: %d %s", line, status, out)
		}
	}
	for _, path := range []string{"/models/%2e%2e/files", "/models/a%2f..%2f..%2ffiles", "/models/a%252f..%252ffiles", "/models/a%5c..%5cfiles", "/models/%2e",
		"/models//a"} {
		if status, out := Request(t, s, "GET", path, ""); status != 404 && status != 403 && status != 301 && status != 307 {
			t.Errorf("%s: %d %s", path, status, out)
		}
	}
	if got := asked(); len(got) > 0 {
		t.Errorf("the engine was asked %q", got)
	}
	for _, line := range []string{"GET /models", "GET /models/policy", "GET /models/org/policy", "POST /embeddings", "POST /rerank", "POST /score",
		"POST /tokenize", "POST /detokenize",
		"POST /moderations", "POST /audio/transcriptions"} {
		method, path, _ := strings.Cut(line, " ")
		status, out := Request(t, s, method, path, "", "X-HTTP-Method-Override", "DELETE", "X-Original-URL", "/v1/files", "X-Rewrite-URL", "/v1/files")
		if got := asked(); status != 200 || len(got) != 1 || got[0] != method+" /v1"+path {
			t.Errorf("%s: %d %s, the engine was asked %q", line, status, out, got)
		}
	}
	if rec := s.End(); rec.Untrainable != nil {
		t.Error(rec.Untrainable)
	}
}

// TestAnEscapedPathIsRecordedAsThePathThatItIs.
func TestAnEscapedPathIsRecordedAsThePathThatItIs(t *testing.T) {
	s, asked := gated(t)
	for _, path := range []string{"/chat%2fcompletions", "/chat%2Fcompletions", "/%63hat/completions", "/message%73"} {
		status, out := Request(t, s, "POST", path, `{"model":"policy","messages":[{"role":"user","content":"hi"}]}`)
		if got := asked(); status != 200 || len(got) != 1 || got[0] != "POST /v1/chat/completions" {
			t.Errorf("%s: %d %s, the engine was asked %q", path, status, out, got)
		}
	}
	if rec := s.End(); len(rec.Calls) != 4 || len(rec.Messages) != 5 || !rec.Calls[0].Target {
		t.Errorf("%+v\n%s", rec.Calls, strings.Join(outlines(rec), "\n"))
	}
}

// TestMorePathsByOption pass as they are.
func TestMorePathsByOption(t *testing.T) {
	s, asked := gated(t, "POST /v1/images/*", "GET /v1/files/a b?c")
	for line, want := range map[string]string{"POST /images/generations": "POST /v1/images/generations", "GET /files/a%20b%3Fc": "GET /v1/files/a%20b%3Fc",
		"GET /images/generations": "",
		"POST /images/a/b":        "", "POST /images": "", "GET /files/a": ""} {
		method, path, _ := strings.Cut(line, " ")
		status, out := Request(t, s, method, path, "")
		if got := strings.Join(asked(), " "); got != want || (status == 200) != (want != "") {
			t.Errorf("%s: %d %s, the engine was asked %q", line, status, out, got)
		}
	}
	s.End()
	for _, bad := range []string{"/v1/files", "GET files", "GET /v1", "GET /v1/", "GET /v1/[", "get /v1/files", "GET /v1/../files", "GET  /v1/files"} {
		if err := recorder.CheckPath(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
