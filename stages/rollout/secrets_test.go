package rollout_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// keyed is an agent whose only call is answered with a key. It ends once that answer is in the journal, or when it is stopped.
type keyed struct {
	t      *testing.T
	out    string
	fields map[string]any // of its request
	then   func()
}

func (keyed) Describe() agents.Description { return agents.Description{Kind: "keyed"} }

func (keyed) Close() error { return nil }

func (a keyed) Attempt(ctx context.Context, at agents.Attempt) (agents.Result, error) {
	body := map[string]any{"model": at.Model, "messages": []map[string]any{{"role": "user", "content": at.Example.Question}}}
	for k, v := range a.fields {
		body[k] = v
	}
	data, _ := json.Marshal(body)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at.BaseURL+"/chat/completions", strings.NewReader(string(data)))
	if err != nil {
		return agents.Result{}, err
	}
	resp, err := at.HTTP.Do(req)
	if err != nil {
		return agents.Result{}, err
	}
	resp.Body.Close()
	for ctx.Err() == nil && answeredCalls(a.t, a.out) <= 0 {
		time.Sleep(time.Millisecond)
	}
	a.then()
	return agents.Result{}, ctx.Err()
}

// TestASecretInAnAnswerFailsItsAttempt, wherever in the answer it is: the answer is not kept for another process, and no tokens that spell it out.
func TestASecretInAnAnswerFailsItsAttempt(t *testing.T) {
	const key = "sk-canary-0123456789"
	said := recordertest.Reply{Content: "the key is " + key}
	calling := recordertest.Reply{ToolCalls: []formats.ToolCall{{ID: "1", Name: "send", Arguments: `{"key":"` + key + `"}`}}}
	for name, c := range map[string]struct {
		fields map[string]any
		script func(q recordertest.Request) recordertest.Reply
	}{
		"text":      {nil, func(recordertest.Request) recordertest.Reply { return said }},
		"arguments": {nil, func(recordertest.Request) recordertest.Reply { return calling }},
		"stream":    {map[string]any{"stream": true}, func(recordertest.Request) recordertest.Reply { return calling }},
		"one of several": {map[string]any{"n": 3}, func(q recordertest.Request) recordertest.Reply {
			if q.Choice == 1 {
				return said
			}
			return recordertest.Reply{Content: "well"}
		}},
		"a tool": {map[string]any{"tools": []any{map[string]any{"type": "function", "function": map[string]any{"name": "f", "description": key}}}},
			func(recordertest.Request) recordertest.Reply { return recordertest.Reply{Content: "well"} }},
		"a template's field": {map[string]any{"chat_template_kwargs": map[string]any{"note": key}},
			func(recordertest.Request) recordertest.Reply { return recordertest.Reply{Content: "well"} }},
		"escaped": {nil, func(recordertest.Request) recordertest.Reply {
			return recordertest.Reply{ToolCalls: []formats.ToolCall{{ID: "1", Name: "send", Arguments: `{"key":"\u0073k\u002dcanary-0123456789"}`}}}
		}},
		"parts of a prompt": {map[string]any{"messages": []map[string]any{{"role": "user", "content": []map[string]any{
			{"type": "text", "text": key[:9]}, {"type": "text", "text": key[9:]}}}}},
			func(recordertest.Request) recordertest.Reply { return recordertest.Reply{Content: "well"} }},
		"the prompt": {map[string]any{"messages": []map[string]any{{"role": "user", "content": "a"}, {"role": "tool", "tool_call_id": "1", "content": key}}},
			func(recordertest.Request) recordertest.Reply { return recordertest.Reply{Content: "well"} }},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, &engine{Script: c.script})
			out := filepath.Join(t.TempDir(), "out")
			o := talking(e.URL(), out, talker{})
			o.Agent, o.MaxInitialFailures, o.MaxFailureRate = keyed{t, out, c.fields, func() {}}, -1, new(1.0)
			known := &secret.Set{}
			known.Add("MY_API_KEY", key)
			if _, err := rollout.Run(secret.With(t.Context(), known), o); err != nil {
				t.Fatal(err)
			}
			row := rows(t, out)[0]
			if row.Status != outcomes.StatusFailed || row.FailureClass != outcomes.FailSecret || row.SampledTokens != 0 || strings.Contains(fmt.Sprint(row), key) || strings.Contains(fmt.Sprint(row), key[9:]) {
				t.Errorf("%s %s: %s, %d tokens", row.Status, row.FailureClass, row.Error, row.SampledTokens)
			}
			for _, m := range row.Messages {
				if m.TokenIDs != nil || m.PromptDeltaIDs != nil {
					t.Errorf("%s has tokens: %v, %v", m.Role, m.TokenIDs, m.PromptDeltaIDs)
				}
			}
		})
	}
}

// TestACallWithASecretFieldIsReplayed: its journal has the field redacted.
func TestACallWithASecretFieldIsReplayed(t *testing.T) {
	const key = "sk-canary-0123456789"
	known := &secret.Set{}
	known.Add("MY_API_KEY", key)
	e := newEngine(t, &engine{})
	out := filepath.Join(t.TempDir(), "out")
	o := talking(e.URL(), out, talker{})
	ctx, cancel := context.WithCancel(secret.With(t.Context(), known))
	o.Agent = keyed{t, out, map[string]any{"cache_salt": key}, cancel}
	if _, err := rollout.Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	o.Agent = keyed{t, out, map[string]any{"cache_salt": key}, func() {}}
	report, err := rollout.Run(secret.With(t.Context(), known), o)
	if err != nil || report.Facts["replayed_calls"] != 1 || len(e.Asked()) != 1 || rows(t, out)[0].Status != outcomes.StatusOK {
		t.Errorf("%v, asked %d times: %+v", err, len(e.Asked()), report.Facts)
	}
}
