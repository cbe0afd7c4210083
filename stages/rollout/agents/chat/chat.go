// Package chat is the agent that asks the model once, with a system and a user
// message made from the example by text/template. It runs no program and no
// tool; for those see agents/command.
//
// A template sees the example's fields by name ({{.question}}), and id,
// question and answer as the field mapping found them. A field that the
// example does not have fails that trajectory (class example), never the run.
package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/template"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout"
)

// Kind is the agent's entry in agents/all.
var Kind = rollout.AgentKind{
	Name:  "chat",
	Usage: "chat: one question to the model, from the templates --system and --user",
	New:   New,
}

// defaultUser is the template of the user message.
const defaultUser = "{{.question}}"

type agent struct {
	config       rollout.AgentConfig
	system, user *template.Template // system is nil for none
}

// New makes the agent; an error is of kind usage.
func New(c rollout.AgentConfig) (rollout.Agent, error) {
	if len(c.Words) > 0 {
		return nil, usage("its messages are --system and --user", "agent chat takes no arguments, not %q", c.Words[0])
	}
	if c.Client == nil {
		return nil, usage("", "agent chat was given no model client")
	}
	if c.User == "" {
		c.User = defaultUser
	}
	a := &agent{config: c}
	var err error
	if a.user, err = parse("--user", c.User); err != nil {
		return nil, err
	}
	if c.System != "" {
		if a.system, err = parse("--system", c.System); err != nil {
			return nil, err
		}
	}
	return a, nil
}

var functions = template.FuncMap{
	"json": func(v any) (string, error) {
		b, err := json.Marshal(v)
		return string(b), err
	},
}

func parse(flag, text string) (*template.Template, error) {
	t, err := template.New(flag).Option("missingkey=error").Funcs(functions).Parse(text)
	if err != nil {
		return nil, usage(`a template names an example's fields: {{.question}}`, "%w", err)
	}
	return t, nil
}

// Describe is part of rollout.Agent.
func (a *agent) Describe() rollout.Description {
	return rollout.Description{Kind: "chat", Params: map[string]any{"system": a.config.System, "user": a.config.User}}
}

// Attempt is part of rollout.Agent.
func (a *agent) Attempt(ctx context.Context, at rollout.Attempt) (rollout.Result, error) {
	messages, err := a.opening(at.Example)
	if err != nil {
		return rollout.Result{}, &rollout.Failure{Class: formats.FailExample, Err: err}
	}
	for {
		reply, err := a.config.Client.Chat(ctx, at.BaseURL, at.APIKey, at.Model, messages, nil)
		if err != nil {
			return rollout.Result{}, &rollout.Failure{Class: formats.FailEngine, Err: err}
		}
		messages = append(messages, reply)
		if !a.goesOn(reply) {
			return rollout.Result{Stop: formats.StopDone}, nil
		}
	}
}

// goesOn tells whether there is another turn after a reply.
func (a *agent) goesOn(formats.Message) bool { return false }

func (a *agent) opening(e formats.Example) ([]formats.Message, error) {
	data, err := fields(e)
	if err != nil {
		return nil, err
	}
	var out []formats.Message
	for _, m := range []struct {
		role     string
		template *template.Template
	}{{"system", a.system}, {"user", a.user}} {
		if m.template == nil {
			continue
		}
		var b bytes.Buffer
		if err := m.template.Execute(&b, data); err != nil {
			return nil, fmt.Errorf("example %q: %w", e.ID, err)
		}
		out = append(out, formats.Message{Role: m.role, Content: b.String()})
	}
	return out, nil
}

// fields is what templates see. Numbers keep the digits that they came with.
func fields(e formats.Example) (map[string]any, error) {
	data := map[string]any{}
	if len(e.Fields) > 0 {
		d := json.NewDecoder(bytes.NewReader(e.Fields))
		d.UseNumber()
		if err := d.Decode(&data); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("example %q: its fields are not an object: %w", e.ID, err)
		}
	}
	for name, value := range map[string]string{"id": e.ID, "question": e.Question, "answer": e.Answer} {
		if _, has := data[name]; !has && value != "" {
			data[name] = value
		}
	}
	return data, nil
}

func usage(hint, format string, args ...any) error {
	return stages.Errorf(stages.KindUsage, hint, "rollout: "+format, args...)
}
