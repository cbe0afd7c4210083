package recorder_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// step is a call of an agent: its prompt, and what becomes of it.
type step struct {
	prompt string // roles by their first letter, as in "s:be brief|u:hello"; "." is the prompt before with its answer
	end    string // "ok"; "hang up" before the answer; "leave" the stream; "lose" a race: hang up when all others ended
	api    string // path; "" for chat/completions
	fields fields
}

// TestAbandonedCalls: a call that nobody waited for counts unless another call makes up for it.
func TestAbandonedCalls(t *testing.T) {
	ok := func(prompt string) step { return step{prompt: prompt, end: "ok"} }
	gone := func(prompt string) step { return step{prompt: prompt, end: "hang up"} }
	stream := fields{"stream": true}
	for name, c := range map[string]struct {
		steps     []step
		accept    bool // --accept-left-streams
		abandoned bool
	}{
		"answered":                       {steps: []step{ok("u:1"), ok(".|u:2")}},
		"the last call":                  {steps: []step{ok("u:1"), gone(".|u:2")}, abandoned: true},
		"the only call":                  {steps: []step{gone("u:1")}, abandoned: true},
		"in a stream":                    {steps: []step{ok("u:1"), {".|u:2", "hang up", "", stream}}, abandoned: true},
		"before a stream, accepted":      {steps: []step{{"u:1", "hang up", "", stream}}, accept: true, abandoned: true},
		"a left stream":                  {steps: []step{ok("u:1"), {".|u:2", "leave", "", stream}}, abandoned: true},
		"a left stream, accepted":        {steps: []step{ok("u:1"), {".|u:2", "leave", "", stream}}, accept: true},
		"a whole answer is not accepted": {steps: []step{ok("u:1"), gone(".|u:2")}, accept: true, abandoned: true},
		"messages":                       {steps: []step{{"u:1", "hang up", "messages", fields{"max_tokens": 9}}}, abandoned: true},
		"messages, left": {steps: []step{{"u:1", "leave", "messages", fields{"max_tokens": 9, "stream": true}}},
			abandoned: true},
		"responses":                        {steps: []step{{"u:1", "hang up", "responses", nil}}, abandoned: true},
		"responses, left":                  {steps: []step{{"u:1", "leave", "responses", stream}}, abandoned: true},
		"retried":                          {steps: []step{gone("u:1"), ok("u:1")}},
		"goes on by itself":                {steps: []step{ok("u:1"), gone(".|u:2"), ok("u:1|a:1|u:2|u:again")}},
		"goes on":                          {steps: []step{gone("u:1"), ok("u:1|u:are you there?")}},
		"goes back":                        {steps: []step{ok("u:1"), gone(".|t:long"), ok("u:1|a:1|t:short")}},
		"the loser of a race":              {steps: []step{ok("u:1"), {".|u:2", "lose", "", nil}, ok("u:1|a:1|u:2")}},
		"an equal call before it":          {steps: []step{ok("u:1"), gone("u:1")}, abandoned: true},
		"a sub-agent whose parent goes on": {steps: []step{ok("s:lead|u:1"), gone("s:help|u:2"), ok("s:lead|u:1|a:1|t:it gave up")}},
		"a sub-agent at last":              {steps: []step{ok("s:lead|u:1"), gone("s:help|u:2")}, abandoned: true},
		"beside another conversation":      {steps: []step{{"s:a|u:1", "lose", "", nil}, ok("s:b|u:1"), ok("s:b|u:1|a:1|u:2")}, abandoned: true},
		"one of several prompts":           {steps: []step{ok("s:sum|u:1"), gone("s:sum|u:2"), ok("s:sum|u:3")}, abandoned: true},
		"another model":                    {steps: []step{ok("u:1"), {".|u:2", "hang up", "", fields{"model": "judge"}}}},
		"made up for by another model":     {steps: []step{gone("u:1"), {"u:1", "ok", "", fields{"model": "judge"}}}, abandoned: true},
	} {
		t.Run(name, func(t *testing.T) {
			rec := makeSteps(t, c.accept, c.steps)
			if got := rec.Abandoned; (got != nil) != c.abandoned || got != nil && got.Class != outcomes.FailAbandoned {
				t.Errorf("%+v", got)
			}
		})
	}
}

// makeSteps makes the calls of an agent, one after the other.
func makeSteps(t *testing.T, accept bool, steps []step) recorder.Record {
	at := make(chan struct{})
	close(at)
	arrived, ended := make(chan bool, len(steps)), make(chan bool, len(steps))
	e := &recordertest.Engine{
		Arrived: func(int, recordertest.Request) { arrived <- true },
		Fault: func(_ int, q recordertest.Request) fault {
			return map[string]fault{"hang up": {Kind: recordertest.Hang}, "lose": {Kind: recordertest.Hang}}[q.Header.Get("X-End")]
		},
		Script: func(q recordertest.Request) recordertest.Reply {
			return recordertest.Reply{Content: "hmm, you said " + q.Messages[len(q.Messages)-1].Content}
		},
		Pace: func(q recordertest.Request, event int) <-chan struct{} {
			if q.Header.Get("X-End") == "leave" && event > 2 {
				return nil // never
			}
			return at
		},
	}
	s := record(t, e, func(o *recorder.Options) {
		o.AcceptLeftStreams, o.Ended = accept, func(formats.Call) { ended <- true }
	}).Begin(context.Background(), "t", "g")
	var losers []func()
	said := map[string]string{} // the answers so far, by the last message of their prompts
	before := ""
	for _, now := range steps {
		var messages []fields
		prompt := strings.Replace(now.prompt, ".", before, 1)
		for _, m := range strings.Split(prompt, "|") {
			role, text, _ := strings.Cut(m, ":")
			if role == "a" {
				text = said[text]
			}
			messages = append(messages, fields{"role": map[string]string{"s": "system", "u": "user", "a": "assistant", "t": "user"}[role], "content": text})
		}
		_, last, _ := strings.Cut(prompt[strings.LastIndex(prompt, "|")+1:], ":")
		before, said[last] = prompt+"|a:"+last, "hmm, you said "+last
		body := fields{"model": "policy", "messages": messages}
		path := "chat/completions"
		if now.api != "" {
			path = now.api
		}
		if now.api == "responses" {
			body = fields{"model": "policy", "input": messages}
		}
		for k, v := range now.fields {
			body[k] = v
		}
		data, _ := json.Marshal(body)
		ctx, cancel := context.WithCancel(t.Context())
		req, _ := http.NewRequestWithContext(ctx, "POST", s.BaseURL()+"/"+path, strings.NewReader(string(data)))
		req.Header.Set("X-End", now.end)
		done := make(chan error, 1)
		leave := now.end == "leave"
		go func() {
			resp, err := http.DefaultClient.Do(req)
			if err == nil {
				lines := bufio.NewScanner(resp.Body)
				for lines.Scan() && !(leave && strings.Contains(lines.Text(), "hmm")) {
				}
				err = resp.Body.Close()
			}
			done <- err
		}()
		<-arrived
		hangUp := func() { cancel(); <-done; <-ended }
		switch now.end {
		case "lose":
			losers = append(losers, hangUp)
			continue
		case "hang up":
			hangUp()
			continue
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		<-ended
		cancel()
	}
	for _, hangUp := range losers {
		hangUp()
	}
	return s.End()
}
