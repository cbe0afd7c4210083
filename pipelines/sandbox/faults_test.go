package sandbox

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestChatFaultsStrikeTheNextCalls(t *testing.T) {
	body := ask(DefaultBaseModel, emptyBoard, `"seed":1,"return_tokens_as_token_ids":true`)
	for _, stream := range []bool{false, true} {
		body := body
		if stream {
			body = ask(DefaultBaseModel, emptyBoard, `"seed":1,"return_tokens_as_token_ids":true,"stream":true`)
		}
		for fault, ok := range map[string]func(reply) bool{
			`"kind":"status","status":429,"retry_after":3`: func(r reply) bool {
				return r.status == 429 && r.header.Get("Retry-After") == "3" && strings.Contains(string(r.body), `"error"`)
			},
			`"kind":"status"`:         func(r reply) bool { return r.status == 500 },
			`"kind":"half"`:           func(r reply) bool { return r.status == 200 && r.err != nil && len(r.body) > 0 },
			`"kind":"not_json"`:       func(r reply) bool { return r.status == 200 && !json.Valid(r.body) },
			`"kind":"nan"`:            func(r reply) bool { return strings.Contains(string(r.body), `"logprob":NaN`) },
			`"kind":"no_logprobs"`:    func(r reply) bool { return r.status == 200 && !strings.Contains(string(r.body), `"logprob":`) },
			`"kind":"no_token_ids"`:   func(r reply) bool { return r.status == 200 && !strings.Contains(string(r.body), `token_id`) },
			`"kind":"delay"`:          func(r reply) bool { return r.status == 200 && r.err == nil },
			`"kind":"fewer_logprobs"`: func(r reply) bool { return strings.Count(string(r.body), `"logprob":`) == 3 },
		} {
			h := start(t, Options{})
			h.fault(`{"chat":[{` + fault + `,"skip":1,"times":2}]}`)
			for call, struck := range []bool{false, true, true, false} {
				r := h.do("POST", "/v1/chat/completions", body)
				if struck && !ok(r) {
					t.Errorf("stream %v, %s, call %d: %d %s %v", stream, fault, call, r.status, r.body, r.err)
				}
				sound := r.status == 200 && r.err == nil && strings.Count(string(r.body), `"logprob":-`) == 4 && strings.Contains(string(r.body), `"token_ids"`)
				if !struck && !sound {
					t.Errorf("stream %v, %s, call %d is struck, too: %d %s %v", stream, fault, call, r.status, r.body, r.err)
				}
			}
		}
	}
}

func TestAHangingCallEndsWithItsClientOrWhenCleared(t *testing.T) {
	h := start(t, Options{})
	h.fault(`{"chat":[{"kind":"hang","times":2}]}`)
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "POST", h.url+"/v1/chat/completions", strings.NewReader(ask(DefaultBaseModel, "x", "")))
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error)
	go func() { _, err := http.DefaultClient.Do(req); gone <- err }()
	waiting := make(chan reply)
	go func() { waiting <- h.do("POST", "/v1/chat/completions", ask(DefaultBaseModel, "x", "")) }()
	h.untilStruck()
	cancel()
	if err := <-gone; err == nil {
		t.Error("a hanging call answered")
	}
	h.do("DELETE", "/_rollmill/faults", "").want(t, 200, nil)
	if r := <-waiting; r.err == nil {
		t.Errorf("a hanging call answered %d", r.status)
	}
	h.chat(ask(DefaultBaseModel, "x", ""))
	if c := h.counts(); c.Chat != 1 {
		t.Errorf("%d calls were paid for, want 1", c.Chat)
	}
}

// untilStruck asks for the faults until each has found its call.
func (h host) untilStruck() {
	h.t.Helper()
	for left := (Faults{Chat: []*Fault{{}}}); len(left.Chat)+len(left.Train) > 0; {
		left = Faults{}
		h.do("GET", "/_rollmill/faults", "").want(h.t, 200, &left)
	}
}

// until asks for the counts until they are as they should be.
func (h host) until(ok func(Counts) bool) {
	h.t.Helper()
	for !ok(h.counts()) {
		if err := h.t.Context().Err(); err != nil {
			h.t.Fatal(err)
		}
	}
}

func TestTrainingFaults(t *testing.T) {
	for _, c := range []struct {
		fault string
		lines int
		whole bool // the stream ends as it should
		step  int
	}{
		{`{"kind":"drop","lines":0}`, 0, false, 0},
		{`{"kind":"drop","lines":3}`, 3, false, 0},
		{`{"kind":"drop","lines":3,"commit":true}`, 3, false, 1},
		{`{"kind":"drop","lines":-1}`, 8, false, 0},
		{`{"kind":"drop","lines":-1,"commit":true}`, 8, false, 1},
		{`{"kind":"zero"}`, 0, true, 0},
		{`{"kind":"zero","commit":true}`, 0, true, 1},
		{`{"kind":"nan"}`, 8, true, 1},
		{`{"kind":"delay"}`, 8, true, 1},
	} {
		h := start(t, Options{GradientSteps: 8})
		h.do("POST", "/register", student).want(t, 200, nil)
		h.fault(`{"train":[` + c.fault + `]}`)
		r := h.train(1, submissionHeader, "k")
		if r.status != 200 || (r.err == nil) != c.whole || lineCount(r.body) != c.lines {
			t.Errorf("%s: %d lines, status %d, %v", c.fault, lineCount(r.body), r.status, r.err)
		}
		if strings.Contains(c.fault, "nan") != strings.Contains(string(r.body), `"loss":NaN`) {
			t.Errorf("%s: %s", c.fault, r.body)
		}
		state := h.state("k")
		if state.Step != c.step || h.step() != c.step || (state.TrainedAtStep != nil) != (c.step == 1) {
			t.Errorf("%s: %+v, want step %d", c.fault, state, c.step)
		}
		if strings.Contains(c.fault, `"commit":true`) && !strings.Contains(c.fault, "zero") {
			twin := start(t, Options{GradientSteps: 8})
			twin.train(1).want(t, 200, nil)
			if twin.spoken("student") != h.spoken("student") {
				t.Errorf("%s: the weights are not those of an undisturbed training", c.fault)
			}
		}
	}
	h := start(t, Options{})
	h.fault(`{"train":[{"kind":"status","status":503}]}`)
	h.train(1).want(t, 503, nil)
	h.train(1).want(t, 200, nil)
	h.do("POST", "/_rollmill/faults", `{"train":[{"kind":"flood"}]}`).want(t, 400, nil)
	h.do("POST", "/_rollmill/faults", `{"chat":[{"kind":"flood"}]}`).want(t, 400, nil)
}

func TestATrainingUnderWayIsBusy(t *testing.T) {
	h := start(t, Options{})
	h.do("POST", "/register", student).want(t, 200, nil)
	h.fault(`{"train":[{"kind":"hold"}]}`)
	trained := make(chan reply)
	go func() { trained <- h.train(1, submissionHeader, "k") }()
	h.untilStruck()
	var s trainingState
	h.do("GET", "/_rollmill/training?project=demo&model=student&submission=k&wait=0", "").want(t, 200, &s)
	if !s.Busy || s.Step != 0 || s.TrainedAtStep != nil {
		t.Errorf("while it trains: %+v", s)
	}
	h.do("GET", "/_rollmill/training?project=demo&model=another&wait=0", "").want(t, 200, &s)
	if s.Busy {
		t.Error("another model is busy, too")
	}
	asked := make(chan int)
	go func() { asked <- h.step() }()
	h.until(func(c Counts) bool { return c.Routes["POST /_get_step"] == 1 })
	h.do("DELETE", "/_rollmill/faults", "").want(t, 200, nil)
	if step := <-asked; step != 1 {
		t.Errorf("asked for the step while it trains: %d, want the new one", step)
	}
	(<-trained).want(t, 200, nil)
	if s := h.state("k"); s.Busy || s.TrainedAtStep == nil {
		t.Errorf("afterwards: %+v", s)
	}
}

// A request whose body is not read yet is under way, too.
func TestACallIsBusyFromItsFirstByte(t *testing.T) {
	tr := newTraffic()
	known, leave := tr.arrive()
	a, b := modelKey{"p", "a"}, modelKey{"p", "b"}
	if !tr.settle(t.Context(), a, 0) || !tr.settle(t.Context(), b, 0) {
		t.Error("a call for who knows which model leaves some model idle")
	}
	known(a)
	if !tr.settle(t.Context(), a, 0) || tr.settle(t.Context(), b, 0) {
		t.Error("a call for one model must keep that one busy alone")
	}
	leave()
	if tr.settle(t.Context(), a, 0) {
		t.Error("a call that has left keeps the model busy")
	}
}

func TestCountsOfRepeats(t *testing.T) {
	h := start(t, Options{})
	for _, seed := range []string{"1", "2", "2", "3", "2"} {
		h.do("POST", "/v1/chat/completions", ask(DefaultBaseModel, "x", `"seed":`+seed), trajectoryHeader, "t"+seed).want(t, 200, nil)
	}
	h.do("POST", "/v1/chat/completions", ask("nobody", "x", `"seed":1`)).want(t, 404, nil)
	c := h.counts()
	if c.Chat != 5 || c.Repeated != 2 || c.Seeds["2"] != 3 || c.Trajectories["t2"] != 3 || c.Routes["POST /v1/chat/completions"] != 6 || c.SampledTokens < 15 {
		t.Errorf("%+v", c)
	}
}

func TestTornCountsAreReadAsFarAsTheyGo(t *testing.T) {
	dir := t.TempDir()
	h := start(t, Options{Dir: dir})
	h.chat(ask(DefaultBaseModel, "x", `"seed":1`))
	h.stop()
	path := filepath.Join(dir, countsFile)
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(body, "chat\t2\t"...), 0o666); err != nil {
		t.Fatal(err)
	}
	h = start(t, Options{Dir: dir})
	h.chat(ask(DefaultBaseModel, "x", `"seed":3`))
	h.stop()
	h = start(t, Options{Dir: dir})
	if c := h.counts(); c.Chat != 2 || c.Seeds["3"] != 1 || len(c.Seeds) != 2 {
		t.Errorf("%+v", c)
	}
}

func TestTheSampleLogHoldsWhatWasDrawn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "samples.jsonl")
	h := start(t, Options{SampleLog: path})
	c := h.chat(ask(DefaultBaseModel, emptyBoard, `"n":2`))
	h.stop()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(body)), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines, want 2", len(lines))
	}
	for i, line := range lines {
		var s Sample
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		if s.ID != c.ID || s.Choice != i || text(s.TokenIDs) != text(c.Choices[i].TokenIDs) || s.Logprobs[1] != c.Choices[i].Logprobs.Content[1].Logprob {
			t.Errorf("%+v", s)
		}
	}
}
