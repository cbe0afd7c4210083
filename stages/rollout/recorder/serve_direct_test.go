package recorder

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
)

// TestDirectCallsAreAsCallsOverAConnection: the same answers, errors and
// records, also of streams and of an engine that breaks off.
func TestDirectCallsAreAsCallsOverAConnection(t *testing.T) {
	whole, stream := longAnswer(50), longStream(50)
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, _ := io.ReadAll(r.Body)
		switch {
		case r.URL.Path == "/v1/models":
			io.WriteString(w, `{"data":[]}`)
		case bytes.Contains(q, []byte("refuse me")):
			http.Error(w, `{"error":{"message":"no"}}`, http.StatusBadRequest)
		case bytes.Contains(q, []byte(`"stream":true`)):
			w.Header().Set("Content-Type", "text/event-stream")
			for i, event := range stream {
				if i == 20 && bytes.Contains(q, []byte("break off")) {
					panic(http.ErrAbortHandler)
				}
				w.Write(event)
			}
		default:
			w.Header().Set("Content-Type", "application/json")
			w.Write(whole)
		}
	}))
	defer engine.Close()
	r, err := New(Options{Settings: engines.Settings{Endpoints: []string{engine.URL + "/v1"}, Retries: -1}, Defaults: apis.Defaults{Model: "policy"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	type outcome struct {
		Status int
		Type   string
		Body   string
		Broken bool
		Record Record
	}
	play := func(client *http.Client, method, path, body string) (o outcome) {
		s := r.Begin(t.Context(), "t", "g")
		req, err := http.NewRequest(method, s.BaseURL()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err == nil {
			var data []byte
			data, err = io.ReadAll(resp.Body)
			resp.Body.Close()
			o.Status, o.Type, o.Body = resp.StatusCode, resp.Header.Get("Content-Type"), string(data)
		}
		if o.Broken = err != nil; o.Broken {
			o.Status, o.Type, o.Body = 0, "", "" // over a connection the beginning has arrived
		}
		o.Record = s.End()
		for i := range o.Record.Calls {
			o.Record.Calls[i].LatencyMS = 0
		}
		return o
	}
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/chat/completions", `{"messages":[{"role":"user","content":"a"}]}`},
		{"POST", "/chat/completions", `{"messages":[{"role":"user","content":"a"}],"logprobs":true}`},
		{"POST", "/chat/completions", `{"messages":[{"role":"user","content":"a"}],"stream":true}`},
		{"POST", "/chat/completions", `{"messages":[{"role":"user","content":"break off"}],"stream":true}`},
		{"POST", "/chat/completions", `{"messages":[{"role":"user","content":"refuse me"}]}`},
		{"POST", "/chat/completions", `not JSON`},
		{"POST", "/messages", `{"max_tokens":9,"messages":[{"role":"user","content":"a"}]}`},
		{"GET", "/models", ""},
		{"GET", "/../../nowhere", ""},
	} {
		connected, direct := play(http.DefaultClient, c.method, c.path, c.body), play(r.Client(), c.method, c.path, c.body)
		if !reflect.DeepEqual(connected, direct) {
			t.Errorf("%s %s: over a connection %+v\ndirectly %+v", c.path, c.body, connected, direct)
		}
	}
}

// TestDirectCallEndsWithItsContext, and a session that has ended refuses.
func TestDirectCallEndsWithItsContext(t *testing.T) {
	arrived, stop := make(chan bool, 1), make(chan bool)
	engine := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- true; <-stop }))
	defer engine.Close()
	defer close(stop)
	r, err := New(Options{Settings: engines.Settings{Endpoints: []string{engine.URL}}, Defaults: apis.Defaults{Model: "policy"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s := r.Begin(t.Context(), "t", "g")
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	ask := func(ctx context.Context) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.BaseURL()+"/chat/completions",
			strings.NewReader(`{"messages":[{"role":"user","content":"a"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		return r.Client().Do(req)
	}
	if _, err := ask(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	s.End()
	if resp, err := ask(t.Context()); err != nil || resp.StatusCode != http.StatusGone {
		t.Errorf("%v, %v", resp, err)
	}
}
