package recorder_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
)

// echo answers every request with what it was, and some as an engine would.
func echo(t *testing.T, routes map[string]string) *recorder.Session {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if text, ok := routes[r.URL.Path]; ok {
			fmt.Fprint(w, text)
			return
		}
		w.Header().Set("X-Engine", "yes")
		if len(routes) > 0 {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprintf(w, "%s %s %s %s%s", r.Method, r.URL, r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"), body)
	}))
	t.Cleanup(server.Close)
	r, err := recorder.New(recorder.Options{Settings: engines.Settings{Endpoints: []string{server.URL + "/v1"}, APIKey: "engine-key"}, Defaults: apis.Defaults{Model: "policy"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r.Begin(context.Background(), "t", "g")
}

// TestOtherPathsPassThrough unchanged, with the engine's key, and are recorded as
// calls that nothing trains on.
func TestOtherPathsPassThrough(t *testing.T) {
	s := echo(t, nil)
	for path, body := range map[string]string{"/embeddings": `{"model":"small", "input":["a"]}`, "/rerank": "[1", "/audio/transcriptions?x=1": "\x00\x01"} {
		status, out := post(t, s.BaseURL()+path, []byte(body), "Authorization", "Bearer agent-key", "X-Api-Key", "agent-key")
		if want := "POST /v1" + path + " Bearer engine-key " + body; status != 200 || string(out) != want {
			t.Errorf("%s: %d %s", path, status, out)
		}
	}
	resp, err := http.Get(s.BaseURL() + "/models/policy")
	if err != nil || resp.Header.Get("X-Engine") != "yes" {
		t.Fatal(err, resp)
	}
	resp.Body.Close()
	rec := s.End()
	got := map[string]string{}
	for _, c := range rec.Calls {
		if c.Target || c.Tools != -1 || c.Error != "" || c.Endpoint == "" {
			t.Errorf("%+v", c)
		}
		got[c.Sampling] = c.Model
	}
	want := map[string]string{`{"api":"embeddings"}`: "small", `{"api":"rerank"}`: "", `{"api":"audio/transcriptions"}`: "", `{"api":"models/policy"}`: ""}
	if d := cmp.Diff(want, got); d != "" || rec.Untrainable != nil || len(rec.Messages) != 0 {
		t.Error(d, rec.Untrainable, rec.Messages)
	}
}

// TestPassingCallsChangeNoSeed: a model call has the seed of its place among the
// model calls.
func TestPassingCallsChangeNoSeed(t *testing.T) {
	var seeds []string
	for _, passing := range []int{0, 3} {
		p := &tape{bodies: []string{`{}`, `{}`, `{}`, said(`{"role":"assistant","content":"a"}`, "", 7)}[3-passing:]}
		server := httptest.NewServer(p)
		defer server.Close()
		seed := int64(5)
		r, err := recorder.New(recorder.Options{Settings: engines.Settings{Endpoints: []string{server.URL + "/v1"}}, Defaults: apis.Defaults{Model: "policy"}, Seed: &seed})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		s := r.Begin(context.Background(), "t", "g")
		for range passing {
			post(t, s.BaseURL()+"/embeddings", fields{})
		}
		ask(t, s, nil, user("hi"))
		seeds = append(seeds, string(p.asked[passing]["seed"]))
		if rec := s.End(); rec.Untrainable != nil || rec.Messages[1].Call != int32(passing) {
			t.Errorf("%v %+v", rec.Untrainable, rec.Messages)
		} else {
			checkRow(t, rec)
		}
	}
	if seeds[0] == "" || seeds[0] != seeds[1] {
		t.Errorf("seeds %q", seeds)
	}
}

// TestCountTokens asks the engine's own route, else its tokenizer, else estimates
// and says so.
func TestCountTokens(t *testing.T) {
	ask := fields{"model": "policy", "system": "s", "messages": []fields{user(strings.Repeat("word ", 100))}}
	for want, routes := range map[string]map[string]string{
		`{"input_tokens":11}`:                   {"/v1/messages/count_tokens": `{"input_tokens":11}`, "/tokenize": `{"count":12}`},
		`{"input_tokens":12}`:                   {"/v1/messages/count_tokens": `{"detail":"none"}`, "/tokenize": `{"count":12,"tokens":[1]}`},
		`{"input_tokens":141,"estimated":true}`: {"/tokenize": `{"tokens":[]}`},
	} {
		s := echo(t, routes)
		if status, out := post(t, s.BaseURL()+"/messages/count_tokens", ask); status != 200 || string(out) != want {
			t.Errorf("%v: %d %s", routes, status, out)
		}
		if rec := s.End(); len(rec.Calls) != 1 || rec.Calls[0].Target || rec.Calls[0].Sampling != `{"api":"messages/count_tokens"}` || len(rec.Messages) != 0 {
			t.Errorf("%+v", rec)
		}
	}
}

// TestABrokenAnswerOfAPassingCallBreaksOff for the agent too.
func TestABrokenAnswerOfAPassingCallBreaksOff(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, strings.Repeat("half", 10_000))
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	r, err := recorder.New(recorder.Options{Settings: engines.Settings{Endpoints: []string{server.URL + "/v1"}}, Defaults: apis.Defaults{Model: "policy"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s := r.Begin(context.Background(), "t", "g")
	resp, err := http.Get(s.BaseURL() + "/models")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("read %d bytes to the end", len(out))
	}
	resp.Body.Close()
	if rec := s.End(); len(rec.Calls) != 1 || !strings.Contains(rec.Calls[0].Error, "broke off") {
		t.Errorf("%+v", rec.Calls)
	}
}
