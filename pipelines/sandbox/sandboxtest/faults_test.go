package sandboxtest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/pipelines/sandbox"
)

func start(t *testing.T) (s *Server, url string) {
	t.Helper()
	s, err := New(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	return s, web.URL
}

func post(t *testing.T, url, body string) (status int, text string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

const question = `{"model":"rollmill/sandbox","messages":[{"role":"user","content":"x"}],"seed":1,"logprobs":true,"return_token_ids":true,` +
	`"return_tokens_as_token_ids":true}`

func TestFaultsStrikeTheNextCalls(t *testing.T) {
	for _, body := range []string{question, strings.Replace(question, "{", `{"stream":true,`, 1)} {
		for fault, ok := range map[string]func(status int, text string) bool{
			`"kind":"status","status":429`: func(status int, text string) bool { return status == 429 && strings.Contains(text, `"error"`) },
			`"kind":"status"`:              func(status int, _ string) bool { return status == 500 },
			`"kind":"no_logprobs"`:         func(status int, text string) bool { return status == 200 && !strings.Contains(text, `"logprob":`) },
			`"kind":"no_token_ids"`:        func(status int, text string) bool { return status == 200 && !strings.Contains(text, "token_id") },
		} {
			_, url := start(t)
			if status, text := post(t, url+"/_rollmill/faults", `{"chat":[{`+fault+`,"skip":1,"times":2}]}`); status != 200 {
				t.Fatal(text)
			}
			for call, struck := range []bool{false, true, true, false} {
				status, text := post(t, url+"/v1/chat/completions", body)
				sound := status == 200 && strings.Contains(text, `"logprob":-`) && strings.Contains(text, `"token_ids"`)
				if struck && !ok(status, text) || struck == sound {
					t.Errorf("%s, call %d: %d %s", fault, call, status, text)
				}
			}
		}
	}
}

func TestAHangingCallEndsWithItsClientOrWithOtherFaults(t *testing.T) {
	s, url := start(t)
	post(t, url+"/_rollmill/faults", `{"chat":[{"kind":"hang","times":2}]}`)
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error)
	go func() { _, err := http.DefaultClient.Do(req); gone <- err }()
	waiting := make(chan int)
	go func() { status, _ := post(t, url+"/v1/chat/completions", question); waiting <- status }()
	for both := false; !both; {
		s.mu.Lock()
		both = len(s.faults.Chat) == 0
		s.mu.Unlock()
	}
	cancel()
	if err := <-gone; err == nil {
		t.Error("a hanging call answered")
	}
	post(t, url+"/_rollmill/faults", `{}`)
	if status := <-waiting; status != 0 {
		t.Errorf("a hanging call answered %d", status)
	}
}

func TestTrainingFaults(t *testing.T) {
	_, url := start(t)
	for faults, want := range map[string]int{`{"train":[{"kind":"status","status":503}]}`: 503, `{"train":[]}`: 422} {
		post(t, url+"/_rollmill/faults", faults)
		if status, text := post(t, url+"/_train_model", `{}`); status != want {
			t.Errorf("%s: %d %s", faults, status, text)
		}
	}
	for _, unknown := range []string{`{"train":[{"kind":"hang"}]}`, `{"chat":[{"kind":"flood"}]}`, `{`} {
		if status, _ := post(t, url+"/_rollmill/faults", unknown); status != 400 {
			t.Errorf("%s: %d", unknown, status)
		}
	}
}
