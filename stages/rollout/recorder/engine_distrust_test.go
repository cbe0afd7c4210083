package recorder_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// serving starts a recorder in front of a handler.
func serving(t *testing.T, h http.HandlerFunc, change ...func(*recorder.Options)) *recorder.Recorder {
	t.Helper()
	engine := httptest.NewServer(h)
	t.Cleanup(func() { engine.CloseClientConnections(); engine.Close() })
	o := recorder.Options{Settings: engines.Settings{Endpoints: []string{engine.URL + "/v1"}, Retries: -1, Backoff: time.Millisecond}, Defaults: apis.Defaults{Model: "policy"}}
	for _, c := range change {
		c(&o)
	}
	r, err := recorder.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

const plainAnswer = `{"model":"policy","choices":[{"index":0,"message":{"role":"assistant","content":"a"},"logprobs":{"content":[{"token":"a","logprob":-1}]},"finish_reason":"stop","token_ids":[7]}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`

// TestAnErrorThatEchoesTheRequestSwitchesNothingOff: an error of validation
// repeats the whole request, with the names of the fields that were added to it.
func TestAnErrorThatEchoesTheRequestSwitchesNothingOff(t *testing.T) {
	var log bytes.Buffer
	bad := true
	var asked []string
	r := serving(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, string(body))
		w.Header().Set("Content-Type", "application/json")
		if bad {
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprintf(w, `{"detail":[{"loc":["body","messages"],"msg":"Input should be a valid list","input":%s}]}`, body)
			return
		}
		io.WriteString(w, plainAnswer)
	}, func(o *recorder.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	s := r.Begin(context.Background(), "t", "g")
	if status, _ := ask(t, s, nil, user("bad")); status != http.StatusUnprocessableEntity {
		t.Fatalf("status %d", status)
	}
	bad = false
	ask(t, s, nil, user("good"))
	if last := asked[len(asked)-1]; !strings.Contains(last, "return_token_ids") || !strings.Contains(last, "return_tokens_as_token_ids") {
		t.Errorf("after an error that echoed its request, the engine is asked %s", last)
	}
	if rec := s.End(); len(sampled(rec)) != 1 || sampled(rec)[0].TokenIDs == nil || strings.Contains(log.String(), "refuses a request field") {
		t.Errorf("%+v\n%s", rec, log.String())
	}
}

// TestARefusedFieldIsReportedOnce, and only the one that was refused.
func TestARefusedFieldIsReportedOnce(t *testing.T) {
	var log bytes.Buffer
	e := &recordertest.Engine{Source: schema.TokensInLogprobs, Refuses: []string{"return_token_ids"}}
	r := record(t, e, func(o *recorder.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	for range 3 {
		s := r.Begin(context.Background(), "t", "g")
		ask(t, s, nil, user("one"))
		s.End()
	}
	if n := strings.Count(log.String(), "level=ERROR"); n != 1 || !strings.Contains(log.String(), "field=return_token_ids") {
		t.Errorf("%d reports:\n%s", n, log.String())
	}
	if last := e.Asked()[len(e.Asked())-1]; last.Fields["return_token_ids"] != nil || last.Fields["return_tokens_as_token_ids"] == nil {
		t.Errorf("asked %v", last.Fields)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		elsewhere.Add(1)
		io.WriteString(w, plainAnswer)
	}))
	defer other.Close()
	r := serving(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}, func(o *recorder.Options) { o.APIKey = "secret" })
	s := r.Begin(context.Background(), "t", "g")
	status, body := ask(t, s, nil, user("one"))
	resp, err := http.Get(s.BaseURL() + "/models")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	rec := s.End()
	if elsewhere.Load() != 0 || status != http.StatusBadGateway || resp.StatusCode != http.StatusBadGateway {
		t.Errorf("%d requests went elsewhere; status %d %s, models %d", elsewhere.Load(), status, body, resp.StatusCode)
	}
	if rec.LastCall == nil || rec.LastCall.Class != outcomes.FailEngineRefused || !strings.Contains(rec.LastCall.Text, "redirects") {
		t.Errorf("%+v", rec.LastCall)
	}
}

// TestAnOversizedAnswerIsRefused with little memory, and the limit is named.
func TestAnOversizedAnswerIsRefused(t *testing.T) {
	for _, announced := range []bool{true, false} {
		r := serving(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if announced {
				w.Header().Set("Content-Length", fmt.Sprint(300<<20))
			}
			piece := bytes.Repeat([]byte(" "), 1<<20)
			for range 300 {
				if _, err := w.Write(piece); err != nil {
					return
				}
			}
		})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s := r.Begin(context.Background(), "t", "g")
		status, body := ask(t, s, nil, user("one"))
		runtime.ReadMemStats(&after)
		if rec := s.End(); status != http.StatusBadGateway || !strings.Contains(string(body), "larger than 64 MiB") || rec.Calls[0].Attempts != 1 {
			t.Errorf("announced=%v: %d %s", announced, status, body)
		}
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 220 {
			t.Errorf("announced=%v: %d MiB were allocated", announced, took)
		}
	}
}

// TestAClientThatStopsReadingDoesNotHoldTheSession: its stream is larger than
// what the connection holds.
func TestAClientThatStopsReadingDoesNotHoldTheSession(t *testing.T) {
	for name, stream := range map[string]string{"stream": `,"stream":true`, "whole": ""} {
		t.Run(name, func(t *testing.T) {
			sent := make(chan struct{})
			r := serving(t, func(w http.ResponseWriter, r *http.Request) {
				long := strings.Repeat("long ", 4<<20)
				if stream == "" {
					fmt.Fprintf(w, `{"model":"policy","choices":[{"index":0,"message":{"role":"assistant","content":%q},"logprobs":{"content":[{"logprob":-1}]},"finish_reason":"stop"}]}`, long)
					close(sent)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, "data: {\"model\":\"policy\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", long)
				w.(http.Flusher).Flush()
				close(sent)
				<-r.Context().Done()
			})
			s := r.Begin(context.Background(), "t", "g")
			u, _ := url.Parse(s.BaseURL())
			c, err := net.Dial("tcp", u.Host)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			body := `{"model":"policy","messages":[{"role":"user","content":"x"}]` + stream + `}`
			fmt.Fprintf(c, "POST %s/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", u.Path, len(body), body)
			<-sent
			endsSoon(t, s)
		})
	}
}

// TestARequestThatNeverEndsDoesNotHoldTheSession.
func TestARequestThatNeverEndsDoesNotHoldTheSession(t *testing.T) {
	r := serving(t, func(w http.ResponseWriter, r *http.Request) {})
	s := r.Begin(context.Background(), "t", "g")
	u, _ := url.Parse(s.BaseURL())
	c, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST %s/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{", u.Path)
	time.Sleep(50 * time.Millisecond) // so that its handler is likely to wait for the rest
	endsSoon(t, s)
}

func endsSoon(t *testing.T, s *recorder.Session) {
	t.Helper()
	ended := make(chan struct{})
	go func() { s.End(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the session waits for a client that does nothing")
	}
}

// TestAnswersThatContradictThemselvesAreUnfit.
func TestAnswersThatContradictThemselvesAreUnfit(t *testing.T) {
	for says, body := range map[string]string{
		"are not those of": strings.Replace(plainAnswer, `"token":"a"`, `"token":"token_id:8"`, 1),
		"two choices of index 0": `{"model":"policy","choices":[{"index":0,"message":{"role":"assistant","content":"a"},"logprobs":{"content":[{"token":"a","logprob":-1}]},"finish_reason":"stop"},` +
			`{"index":0,"message":{"role":"assistant","content":"b"},"logprobs":{"content":[{"token":"b","logprob":-1}]},"finish_reason":"stop"}]}`,
	} {
		_, s := play(t, body)
		ask(t, s, nil, user("one"))
		if rec := s.End(); rec.Untrainable == nil || rec.Untrainable.Class != outcomes.FailLogprobMismatch || !strings.Contains(rec.Untrainable.Text, says) {
			t.Errorf("%s: %+v", says, rec.Untrainable)
		}
	}
}

// TestAnAgentThatWantsNoIDsLosesNone: they are recorded and not shown.
func TestAnAgentThatWantsNoIDsLosesNone(t *testing.T) {
	e := &recordertest.Engine{Source: schema.TokensChoice}
	s := record(t, e).Begin(context.Background(), "t", "g")
	_, body := ask(t, s, fields{"return_token_ids": false}, user("one"))
	if rec := s.End(); sampled(rec)[0].TokenIDs == nil || strings.Contains(string(body), "token_ids") {
		t.Errorf("%+v\n%s", rec, body)
	}
}

// TestTokensWithoutUsageAreCounted, of every choice, and of a stream that the
// agent breaks off.
func TestTokensWithoutUsageAreCounted(t *testing.T) {
	choice := func(i int) string {
		return fmt.Sprintf(`{"index":%d,"message":{"role":"assistant","content":"a"},"logprobs":{"content":[{"token":"a","logprob":-1},{"token":"b","logprob":-1}]},"finish_reason":"stop"}`, i)
	}
	_, s := play(t, `{"model":"policy","choices":[`+choice(0)+","+choice(1)+","+choice(2)+`]}`)
	ask(t, s, fields{"n": 3}, user("one"))
	if rec := s.End(); rec.Calls[0].CompletionTokens != 6 {
		t.Errorf("%d tokens of 3 choices of 2", rec.Calls[0].CompletionTokens)
	}

	sent := make(chan struct{})
	r := serving(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 5 {
			io.WriteString(w, `data: {"model":"policy","prompt_token_ids":[1,2,3],"choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"token":"a","logprob":-1}]}}]}`+"\n\n")
			w.(http.Flusher).Flush()
		}
		close(sent)
		<-r.Context().Done()
	})
	s = r.Begin(context.Background(), "t", "g")
	resp, err := http.Post(s.BaseURL()+"/chat/completions", "application/json", strings.NewReader(`{"messages":[],"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	<-sent
	read := make([]byte, 1)
	resp.Body.Read(read)
	time.Sleep(100 * time.Millisecond) // the recorder has read what was sent
	resp.Body.Close()
	time.Sleep(50 * time.Millisecond)
	if c := s.End().Calls[0]; c.PromptTokens != 3 || c.CompletionTokens != 5 {
		t.Errorf("%d and %d tokens of a stream that was broken off after 5", c.PromptTokens, c.CompletionTokens)
	}
}

// TestTokenTextsAreKeptWhereThereAreNoIDs, and only there.
func TestTokenTextsAreKeptWhereThereAreNoIDs(t *testing.T) {
	for _, stream := range []bool{false, true} {
		for source, want := range map[string]bool{"": true, schema.TokensEntryID: false, schema.TokensChoice: false} {
			e := &recordertest.Engine{Source: source}
			s := record(t, e).Begin(context.Background(), "t", "g")
			ask(t, s, fields{"stream": stream}, user("one"))
			m := sampled(s.End())[0]
			if (m.TokenTexts != nil) != want ||
				want && (len(m.TokenTexts) != len(m.Logprobs) || !strings.HasPrefix(strings.Join(m.TokenTexts, ""), m.Content)) {
				t.Errorf("source %q, stream=%v: %q of %q", source, stream, m.TokenTexts, m.Content)
			}
		}
	}
}

// TestConstrainedCallsAreMarked in their sampling.
func TestConstrainedCallsAreMarked(t *testing.T) {
	e := &recordertest.Engine{}
	s := record(t, e).Begin(context.Background(), "t", "g")
	for _, q := range []fields{{"tool_choice": "auto"}, {"response_format": fields{"type": "text"}},
		{"tool_choice": "required"}, {"tool_choice": fields{"type": "function"}}, {"response_format": fields{"type": "json_object"}}, {"guided_regex": "a+"}} {
		ask(t, s, q, user("one"))
	}
	for i, c := range s.End().Calls {
		if got := strings.Contains(c.Sampling, `"constrained_by":"`); got != (i > 1) {
			t.Errorf("%s", c.Sampling)
		}
	}
}

// TestAnAgentMayEndAsSoonAsItHasItsAnswer, and its connection serves the next
// trajectory.
func TestAnAgentMayEndAsSoonAsItHasItsAnswer(t *testing.T) {
	r := serving(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, plainAnswer) })
	for range 500 {
		s := r.Begin(context.Background(), "t", "g")
		status, _ := ask(t, s, nil, user("one"))
		if rec := s.End(); status != 200 || rec.LastCall != nil {
			t.Fatalf("%d %+v", status, rec.LastCall)
		}
	}
}
