package http_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/agents/agenttest"
	agent "github.com/rollmill/rollmill/stages/rollout/agents/http"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
	"github.com/rollmill/rollmill/storage/fault"
)

// service asks the model about each task and then says what says says.
func service(says string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var task agents.Task
		if err := json.NewDecoder(r.Body).Decode(&task); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body, _ := json.Marshal(map[string]any{"model": task.Model, "messages": []any{map[string]any{"role": "user", "content": task.Question}}})
		req, _ := http.NewRequestWithContext(r.Context(), "POST", task.BaseURL+"/chat/completions", bytes.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+task.APIKey)
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != 200 {
			http.Error(w, "the model did not answer", http.StatusInternalServerError)
			return
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		io.WriteString(w, strings.ReplaceAll(says, "ID", task.ID))
	})
}

func newAgent(t *testing.T, says string) agents.Agent {
	t.Helper()
	s := httptest.NewServer(service(says))
	t.Cleanup(s.Close)
	return at(t, s.URL)
}

func settings(words ...string) *agent.Settings {
	return &agent.Settings{ServiceSettings: agents.ServiceSettings{Arguments: agents.Arguments{Words: words}, Key: "secret"}}
}

func at(t *testing.T, url string) agents.Agent {
	t.Helper()
	a, err := settings(url).Agent(t.Context(), agents.Setup{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestContract(t *testing.T) {
	s := httptest.NewServer(service(""))
	defer s.Close()
	agenttest.Run(t, agent.Kind, func(t *testing.T) agents.Agent { return at(t, s.URL) })
}

func TestServiceAnswers(t *testing.T) {
	r := agenttest.Recorder(t, &recordertest.Engine{Source: schema.TokensChoice})
	for _, c := range []struct{ says, metadata, stop, class string }{
		{`{"metadata":{"id":"ID"},"stop":"turns"}`, `{"id":"ex-1"}`, outcomes.StopTurns, ""},
		{`all is well`, ``, ``, ""},
		{`{"error":"no idea"}`, ``, ``, outcomes.FailAgentExit},
		{`{"stop":"whenever"}`, ``, ``, outcomes.FailAgentOutput},
		{`{"metadata":`, ``, ``, outcomes.FailAgentOutput},
		{strings.Repeat("x", 2<<20), ``, ``, outcomes.FailAgentOutput},
	} {
		result, rec, err := agenttest.Attempt(context.Background(), r, newAgent(t, c.says), 1)
		var f *agents.Failure
		if errors.As(err, &f); (err != nil) != (c.class != "") || f != nil && f.Class != c.class || len(rec.Calls) != 1 {
			t.Errorf("%.40s: %v", c.says, err)
		}
		if string(result.Metadata) != c.metadata || result.Stop != c.stop {
			t.Errorf("%.40s: %s %s", c.says, result.Metadata, result.Stop)
		}
	}
}

// TestServiceThatJustStarts: what could not be reached was not asked, so it is
// asked again.
func TestServiceThatJustStarts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	tried := make(chan error, 1)
	r := agenttest.Recorder(t, &recordertest.Engine{Source: schema.TokensChoice})
	go func() {
		_, _, err := agenttest.Attempt(context.Background(), r, at(t, "http://"+address), 1)
		tried <- err
	}()
	if l, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: service("")}
	go s.Serve(l)
	defer s.Close()
	if err := <-tried; err != nil {
		t.Error(err)
	}
}

// TestAServiceThatMovedIsTheSameAgent; another version or another path of it is
// not, and its key goes to it alone.
func TestAServiceThatMovedIsTheSameAgent(t *testing.T) {
	identity := func(url string) string {
		text, err := json.Marshal(at(t, url).Describe().Params)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	one := identity("http://127.0.0.1:9000/run?mode=fast")
	if other := identity("https://elsewhere:9443/run?mode=fast"); other != one || strings.Contains(one, "9000") {
		t.Errorf("%s and %s", one, other)
	}
	for _, url := range []string{"http://127.0.0.1:9000/run", "http://127.0.0.1:9000/walk?mode=fast", "version=2,http://127.0.0.1:9000/run?mode=fast"} {
		if other := identity(url); other == one {
			t.Errorf("%s is %s too", url, one)
		}
	}
	got := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = r.Header.Get("Authorization") }))
	defer s.Close()
	r := agenttest.Recorder(t, &recordertest.Engine{Source: schema.TokensChoice})
	if _, _, err := agenttest.Attempt(context.Background(), r, at(t, "version=2,"+s.URL), 1); err != nil || got != "Bearer secret" {
		t.Errorf("%v, %q", err, got)
	}
	if text := identity(s.URL); strings.Contains(text, "secret") {
		t.Error(text)
	}
}

func TestBadConfigIsRefused(t *testing.T) {
	for what, s := range map[string]*agent.Settings{
		"needs one URL":      settings(),
		"is not an HTTP URL": settings("localhost:80"),
		"or a password":      settings("http://me:hunter2@host/"),
		`"api_key"`:          settings("http://host/run?api_key=hunter2"),
		"names none":         settings("version=,http://host/"),
	} {
		_, err := s.Agent(t.Context(), agents.Setup{})
		var e *fault.Error
		if !errors.As(err, &e) || e.Kind != fault.Usage || !strings.Contains(err.Error(), what) || strings.Contains(fmt.Sprint(err), "hunter2") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
