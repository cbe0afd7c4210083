package recorder_test

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type fault = recordertest.Fault

// first makes only the first request go wrong.
func first(f fault) func(int, recordertest.Request) fault {
	return func(n int, _ recordertest.Request) fault {
		if n == 0 {
			return f
		}
		return fault{}
	}
}

func always(f fault) func(int, recordertest.Request) fault {
	return func(int, recordertest.Request) fault { return f }
}

// TestPassingFaultsAreRetried: the agent never learns of them, and the row
// says only, in a volatile column, that there was a second try.
func TestPassingFaultsAreRetried(t *testing.T) {
	for name, f := range map[string]fault{
		"429":              {Status: 429, RetryAfter: "0"},
		"500":              {Status: 500},
		"503":              {Status: 503},
		"half body":        {Kind: recordertest.HalfBody},
		"garbage":          {Kind: recordertest.Garbage},
		"no choices":       {Kind: recordertest.Empty},
		"hangs":            {Kind: recordertest.Hang},
		"unsteady network": {Status: 502},
	} {
		t.Run(name, func(t *testing.T) {
			e := &recordertest.Engine{Fault: first(f)}
			s := record(t, e, func(o *recorder.Options) {
				if name == "hangs" {
					o.CallTimeout = 2 * time.Second
				}
			}).Begin(context.Background(), "t", "g")
			status, body := ask(t, s, nil, user("one"))
			rec := s.End()
			if status != 200 || content(body) == "" || rec.Untrainable != nil {
				t.Fatalf("status %d, body %s, %v", status, body, rec.Untrainable)
			}
			if c := rec.Calls[0]; c.Attempts != 2 || c.Error != "" || len(rec.Calls) != 1 {
				t.Errorf("call %+v", c)
			}
		})
	}
}

// TestRetryAfterIsHonoured: the second try comes no sooner than the engine said.
func TestRetryAfterIsHonoured(t *testing.T) {
	arrived := make(chan time.Time, 2)
	e := &recordertest.Engine{Fault: first(fault{Status: 429, RetryAfter: "1"}), Arrived: func(int, recordertest.Request) { arrived <- time.Now() }}
	s := record(t, e).Begin(context.Background(), "t", "g")
	ask(t, s, nil, user("one"))
	s.End()
	if a, b := <-arrived, <-arrived; b.Sub(a) < time.Second {
		t.Errorf("the second try came after %s", b.Sub(a))
	}
}

// TestLastingFaultsReachTheAgent as the engine said them, and name their class.
func TestLastingFaultsReachTheAgent(t *testing.T) {
	for _, c := range []struct {
		name   string
		fault  fault
		status int
		says   string
		class  string
		tries  int
	}{
		{"500", fault{Status: 500}, 500, "refused with 500", outcomes.FailEngine, 3},
		{"429", fault{Status: 429, RetryAfter: "0"}, 429, "refused with 429", outcomes.FailEngine, 3},
		{"400", fault{Status: 400}, 400, "refused with 400", outcomes.FailEngineRefused, 1},
		{"404", fault{Status: 404}, 404, "refused with 404", outcomes.FailEngineRefused, 1},
		{"garbage", fault{Kind: recordertest.Garbage}, 502, "not a chat completion", outcomes.FailEngine, 3},
		{"half body", fault{Kind: recordertest.HalfBody}, 502, "unexpected EOF", outcomes.FailEngine, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &recordertest.Engine{Fault: always(c.fault)}
			s := record(t, e, func(o *recorder.Options) { o.Retries = 2 }).Begin(context.Background(), "t", "g")
			status, body := ask(t, s, nil, user("one"))
			rec := s.End()
			if status != c.status || !strings.Contains(string(body), c.says) {
				t.Errorf("the agent saw %d %s", status, body)
			}
			if rec.LastCall == nil || rec.LastCall.Class != c.class || rec.Calls[0].Error == "" {
				t.Errorf("last call %+v, %+v", rec.LastCall, rec.Calls[0])
			}
			if len(e.Asked()) != c.tries || int(rec.Calls[0].Attempts) != c.tries {
				t.Errorf("asked %d times, want %d", len(e.Asked()), c.tries)
			}
			if len(rec.Messages) != 1 || rec.Untrainable != nil {
				t.Errorf("%+v", rec)
			}
		})
	}
}

func TestUnfitAnswersAreNamed(t *testing.T) {
	for _, c := range []struct {
		fault recordertest.FaultKind
		class string
	}{
		{recordertest.NoLogprobs, outcomes.FailNoLogprobs},
		{recordertest.Merged, outcomes.FailLogprobMismatch},
		{recordertest.BadIDs, outcomes.FailLogprobMismatch},
		{recordertest.NaN, outcomes.FailBadLogprobs},
		{recordertest.Null, outcomes.FailBadLogprobs},
		{recordertest.Positive, outcomes.FailBadLogprobs},
		{recordertest.BaseModel, outcomes.FailModelMismatch},
	} {
		for _, stream := range []bool{false, true} {
			e := &recordertest.Engine{Source: schema.TokensChoice, Fault: always(fault{Kind: c.fault})}
			s := record(t, e).Begin(context.Background(), "t", "g")
			status, _ := ask(t, s, fields{"stream": stream, "tools": aTool}, user("one"))
			<-s.Context().Done() // nothing more is to be paid for this trajectory
			var why *completion.Failure
			if !errors.As(context.Cause(s.Context()), &why) || why.Class != c.class {
				t.Errorf("%s, stream=%v: the context ended with %v", c.fault, stream, context.Cause(s.Context()))
			}
			rec := s.End()
			if status != 200 || rec.Untrainable == nil || rec.Untrainable.Class != c.class {
				t.Errorf("%s, stream=%v: status %d, unfit %+v", c.fault, stream, status, rec.Untrainable)
			}
			if c.fault != recordertest.BaseModel && sampled(rec)[0].Logprobs != nil {
				t.Errorf("%s: bad logprobs were kept", c.fault)
			}
		}
	}
}

func TestNoLogprobsMayBeAccepted(t *testing.T) {
	e := &recordertest.Engine{Fault: always(fault{Kind: recordertest.NoLogprobs})}
	s := record(t, e, func(o *recorder.Options) { o.NoLogprobs = true }).Begin(context.Background(), "t", "g")
	ask(t, s, nil, user("one"))
	if rec := s.End(); rec.Untrainable != nil || sampled(rec)[0].Logprobs != nil {
		t.Errorf("%+v", rec)
	}
}

// TestRefusedFieldsAreLeftOut: an engine that does not know a field of ours is
// asked without it, from then on.
func TestRefusedFieldsAreLeftOut(t *testing.T) {
	e := &recordertest.Engine{Source: schema.TokensEntryID, Refuses: []string{"return_token_ids", "return_tokens_as_token_ids"}}
	r := record(t, e)
	for i := range 3 {
		s := r.Begin(context.Background(), "t", "g")
		if status, body := ask(t, s, nil, user("one")); status != 200 {
			t.Fatalf("call %d: %d %s", i, status, body)
		}
		s.End()
	}
	if n := len(e.Asked()); n != 6 {
		t.Errorf("asked %d times; two refusals of the first, one of the second and three answers are 6", n)
	}
}

// TestRefusedLogprobs: an engine that does not give logprobs here is asked
// without where the run can do without, and otherwise refuses by name.
func TestRefusedLogprobs(t *testing.T) {
	for _, without := range []bool{true, false} {
		e := &recordertest.Engine{Refuses: []string{"logprobs"}}
		s := record(t, e, func(o *recorder.Options) { o.NoLogprobs = without }).Begin(context.Background(), "t", "g")
		status, body := ask(t, s, nil, user("one"))
		ask(t, s, fields{"logprobs": true}, user("two")) // the agent's own wish is the engine's to refuse
		rec := s.End()
		if ok := status == 200; ok != without || rec.Untrainable != nil || rec.LastCall == nil || rec.LastCall.Class != outcomes.FailEngineRefused {
			t.Errorf("without logprobs %v: %d %s, %v, %v", without, status, body, rec.Untrainable, rec.LastCall)
		}
		if want := map[bool]int{true: 3, false: 2}[without]; len(e.Asked()) != want || int(rec.Calls[0].Attempts) != 1 {
			t.Errorf("without logprobs %v: asked %d times", without, len(e.Asked()))
		}
	}
}

// TestStreamsThatBreak: the agent's connection drops as the engine's did, and
// nothing of the answer is recorded as sampled.
func TestStreamsThatBreak(t *testing.T) {
	e := &recordertest.Engine{Fault: always(fault{Kind: recordertest.HalfBody})}
	s := record(t, e).Begin(context.Background(), "t", "g")
	if _, _, err := send(s, fields{"stream": true}, user("one")); err == nil {
		t.Error("the agent read a whole stream")
	}
	rec := s.End()
	if len(rec.Messages) != 1 || rec.LastCall == nil || rec.LastCall.Class != outcomes.FailEngine || !strings.Contains(rec.LastCall.Text, "broke off") {
		t.Errorf("%+v %+v", rec.Messages, rec.LastCall)
	}
	e2 := &recordertest.Engine{Fault: always(fault{Kind: recordertest.ErrorEvent})}
	s = record(t, e2).Begin(context.Background(), "t", "g")
	_, body := ask(t, s, fields{"stream": true}, user("one"))
	if rec := s.End(); !strings.Contains(string(body), "out of memory") || rec.LastCall == nil || len(rec.Messages) != 1 {
		t.Errorf("%s %+v", body, rec.LastCall)
	}
}

// TestStreamsFlow: the agent gets each event before the engine writes the next.
func TestStreamsFlow(t *testing.T) {
	const pieces = 3 // "abcd", "efgh" and the end
	next, free := make(chan struct{}, 1), make(chan struct{})
	close(free)
	e := &recordertest.Engine{
		Script: func(recordertest.Request) recordertest.Reply { return recordertest.Reply{Content: "abcdefgh"} },
		Pace: func(_ recordertest.Request, event int) <-chan struct{} {
			if event > pieces {
				return free // the finish reason and the usage, which are held back till the end
			}
			return next
		},
	}
	s := record(t, e).Begin(context.Background(), "t", "g")
	next <- struct{}{}
	resp, err := http.Post(s.BaseURL()+"/chat/completions", "application/json",
		strings.NewReader(`{"model":"policy","stream":true,"messages":[{"role":"user","content":"one"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	events := 0
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data: ") {
			if events++; events <= pieces {
				next <- struct{}{} // the engine may write one more
			}
		}
	}
	if events != pieces+3 { // the role, the pieces, the finish reason, the end mark
		t.Errorf("%d events", events)
	}
	s.End()
}

// TestAnAgentThatHangsUp frees the engine and blames no one.
func TestAnAgentThatHangsUp(t *testing.T) {
	arrived := make(chan struct{}, 1)
	e := &recordertest.Engine{Fault: always(fault{Kind: recordertest.Hang}), Arrived: func(int, recordertest.Request) { arrived <- struct{}{} }}
	s := record(t, e).Begin(context.Background(), "t", "g")
	ctx, cancel := context.WithCancel(context.Background())
	req, _ := http.NewRequestWithContext(ctx, "POST", s.BaseURL()+"/chat/completions", strings.NewReader(`{"messages":[]}`))
	done := make(chan error)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		done <- err
	}()
	<-arrived
	cancel()
	<-done
	if rec := s.End(); rec.LastCall == nil || rec.LastCall.Class != outcomes.FailCancelled || rec.Calls[0].Attempts != 1 {
		t.Errorf("%+v", rec.LastCall)
	}
}

// TestAfterTheEnd: a late call is refused, not recorded, and not forwarded.
func TestAfterTheEnd(t *testing.T) {
	e := &recordertest.Engine{}
	s := record(t, e).Begin(context.Background(), "t", "g")
	s.End()
	if status, _ := ask(t, s, nil, user("one")); status != http.StatusGone || len(e.Asked()) != 0 {
		t.Errorf("status %d, asked %d", status, len(e.Asked()))
	}
}

// TestTheEnginesKeyStaysHere: the agent's key is replaced by the engine's.
func TestTheEnginesKeyStaysHere(t *testing.T) {
	e := &recordertest.Engine{}
	s := record(t, e, func(o *recorder.Options) { o.APIKey = "engine-key" }).Begin(context.Background(), "t", "g")
	req, _ := http.NewRequest("POST", s.BaseURL()+"/chat/completions", strings.NewReader(`{"messages":[{"role":"user","content":"x"}]}`))
	req.Header.Set("Authorization", "Bearer agent-key")
	req.Header.Set("X-Agent", "kept")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	s.End()
	h := e.Asked()[0].Header
	if h.Get("Authorization") != "Bearer engine-key" || h.Get("X-Agent") != "kept" {
		t.Errorf("%v", h)
	}
	if resp.Header.Get("X-Request-Id") != "engine-request" {
		t.Errorf("the engine's headers are gone: %v", resp.Header)
	}
}

// TestAnotherEndpointTakesOver when the first is down.
func TestAnotherEndpointTakesOver(t *testing.T) {
	dead := (&recordertest.Engine{}).Start(t)
	dead.Close()
	e := &recordertest.Engine{}
	r := record(t, e, func(o *recorder.Options) { o.Endpoints = append(o.Endpoints, dead.URL()) })
	for _, group := range []string{"a", "b", "c", "d", "e"} {
		s := r.Begin(context.Background(), "t", group)
		if status, _ := ask(t, s, nil, user("one")); status != 200 {
			t.Errorf("group %s: %d", group, status)
		}
		s.End()
	}
}
