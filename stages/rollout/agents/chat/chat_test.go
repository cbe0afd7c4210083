package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/agents/agenttest"
	"github.com/rollmill/rollmill/stages/rollout/agents/chat"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
	"github.com/rollmill/rollmill/storage/fault"
)

func newAgent(t *testing.T, system, user string) agents.Agent {
	t.Helper()
	a, err := (&chat.Settings{System: system, User: user}).Agent(t.Context(), agents.Setup{Client: openai.Client{}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestContract(t *testing.T) {
	agenttest.Run(t, chat.Kind, func(t *testing.T) agents.Agent { return newAgent(t, "be brief", "") })
}

func TestTemplates(t *testing.T) {
	e := &recordertest.Engine{Source: schema.TokensChoice}
	r := agenttest.Recorder(t, e)
	for _, c := range []struct{ system, user, fields, want string }{
		{"", "", `{"question":"2+2?"}`, "user: 2+2?"},
		{"You are {{.role}}.", "{{.question}} {{.n}}", `{"question":"q","role":"a pirate","n":12345678901234567890}`,
			"system: You are a pirate.|user: q 12345678901234567890"},
		{"", "{{json .list}} {{range .list}}<{{.}}>{{end}}", `{"list":["a","b"]}`, `user: ["a","b"] <a><b>`},
		{"", "{{.question}}{{if .empty}}x{{end}}", `{"question":"","empty":""}`, "user: "},
	} {
		s := r.Begin(context.Background(), "t", "g")
		_, err := newAgent(t, c.system, c.user).Attempt(s.Context(), agents.Attempt{
			Example: formats.Example{ID: "e", Fields: json.RawMessage(c.fields)}, BaseURL: s.BaseURL(), APIKey: "k", Model: "policy",
		})
		if err != nil {
			t.Errorf("%s: %v", c.user, err)
		}
		var got []string
		for _, m := range s.End().Messages {
			if !m.Sampled {
				got = append(got, m.Role+": "+m.Content)
			}
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("got %q, want %q", strings.Join(got, "|"), c.want)
		}
	}
}

func TestMissingFieldFailsThatExample(t *testing.T) {
	_, err := newAgent(t, "", "{{.topic}}").Attempt(context.Background(), agents.Attempt{Example: agenttest.Example(3)})
	var f *agents.Failure
	if !errors.As(err, &f) || f.Class != outcomes.FailExample || !strings.Contains(err.Error(), `"topic"`) || !strings.Contains(err.Error(), `"ex-3"`) {
		t.Errorf("%v", err)
	}
}

func TestBadConfigIsRefused(t *testing.T) {
	for what, set := range map[string]agents.Setup{"unclosed": {Client: openai.Client{}}, "no model": {}} {
		_, err := (&chat.Settings{User: "{{.question"}).Agent(t.Context(), set)
		var e *fault.Error
		if !errors.As(err, &e) || e.Kind != fault.Usage || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
