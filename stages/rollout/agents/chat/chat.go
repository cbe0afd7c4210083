// Package chat is the agent that holds a conversation with the model: a system
// and a user message made from the example by text/template, and then, as long
// as the model calls tools, their answers. Without tools it calls the model
// once. An agent with its own logic is a program; see agents/command.
//
// A tool is a program. Each call runs it once, with the JSON text of the
// arguments on its standard input, and with the environment that agents/command
// describes plus ROLLMILL_TOOL; its output is the tool's answer. Parallel calls
// run concurrently. The model is told about a call of an unknown tool,
// arguments that are not JSON, and a program that fails ("error: …"); the
// conversation continues.
//
// The conversation ends with an answer that calls no tool, that matches
// --stop-match or that calls a --stop-tool, or, as truncated, with answer
// number --turns that still calls a tool.
//
// A template sees the example's fields by name ({{.question}}), and id,
// question and answer as the field mapping found them. A field that the example
// does not have fails that trajectory (class example), never the run.
package chat

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"text/template"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

var Kind = plugin.Kind[agents.Settings]{
	Name: "chat",
	Help: "hold a conversation with the model, from the templates --system and --user and the programs --tool",
	New:  func() agents.Settings { return &Settings{} },
}

const (
	defaultUser  = "{{.question}}"
	defaultTurns = 16
)

type Settings struct {
	agents.ProgramSettings          // of the tools' programs
	System                 string   // template of the system message; "" for none
	User                   string   // template of the user message; "" for defaultUser
	Programs               Programs // of the tools that the model may call
	Tools                  string   // file of the tools' definitions; "" makes one with open parameters of each
	Turns                  int      // answers of the model in one trajectory; 0 means 16
	StopMatch              string   // regular expression: an answer that matches is the last
	StopTools              []string // a call of one of these is the last
}

func (s *Settings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Rows)
	d.String(&s.System, "system", "build the system message from this `TEMPLATE` over the example's fields").WrittenToRows().
		ForModels().Common()
	d.String(&s.User, "user", "build the user message from this `TEMPLATE` over the example's fields").DefaultShown(defaultUser).
		WrittenToRows().ForModels().Common()
	plugin.Var(d, &s.Programs, "tool", "let the model call this program, `NAME=WORDS` split as a shell would").Repeats = true
	d.String(&s.Tools, "tools", "read the tools' definitions from this `FILE`, the JSON array of a request's \"tools\"")
	d.Int(&s.Turns, "turns", "end a conversation with tools after `N` answers of the model").Min(0).
		DefaultShown(strconv.Itoa(defaultTurns))
	d.String(&s.StopMatch, "stop-match", "end the conversation with an answer that matches this `REGEXP`").ForModels()
	d.Strings(&s.StopTools, "stop-tool", "end the conversation with a call of the tool `NAME`; it needs no program")
	d.Include(&s.ProgramSettings)
}

type agent struct {
	config       Settings
	client       agents.Client
	tools        []tool
	system, user *template.Template // system is nil for none
	stop         *regexp.Regexp     // nil for none
	files        map[string]string
	fields       map[string]any // of each request
}

func (s *Settings) Agent(ctx context.Context, set agents.Setup) (_ agents.Agent, err error) {
	c := *s
	if set.Client == nil {
		return nil, agents.Usage("", "agent chat was given no model client")
	}
	c.User, c.Turns = cmp.Or(c.User, defaultUser), cmp.Or(c.Turns, defaultTurns)
	if c.Env, err = c.Environ(ctx, set); err != nil {
		return nil, err
	}
	a := &agent{config: c, client: set.Client}
	if a.tools, err = c.tools(ctx); err != nil {
		return nil, err
	}
	if a.files, err = c.digestTools(ctx, a.tools); err != nil {
		return nil, err
	}
	if tools := definitions(a.tools); tools != nil {
		a.fields = map[string]any{"tools": tools}
	}
	if c.StopMatch != "" {
		if a.stop, err = regexp.Compile(c.StopMatch); err != nil {
			return nil, agents.Usage("it is a regular expression, as Go's package regexp has them", "--stop-match: %w", err)
		}
	}
	if a.user, err = agents.Template("--user", c.User, defaultUser); err != nil {
		return nil, err
	}
	if c.System != "" {
		if a.system, err = agents.Template("--system", c.System, defaultUser); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (a *agent) Describe() agents.Description {
	d := agents.Description{Kind: "chat", Params: map[string]any{"system": a.config.System, "user": a.config.User},
		Files: a.files, OpenFiles: 1} // the connection to the engine
	if len(a.tools) > 0 {
		d.Params["turns"], d.Params["stop_tools"] = a.config.Turns, a.config.StopTools
		var programs [][]string
		for _, t := range a.tools {
			programs = append(programs, append([]string{t.Name}, t.Words...))
		}
		d.Params["tools"], d.Params["programs"], d.Params["env"] = a.fields["tools"], programs, stages.EnvParams(a.config.Env)
	}
	if a.stop != nil {
		d.Params["stop_match"] = a.config.StopMatch
	}
	return d
}

func (a *agent) Close() error { return nil }

func (a *agent) Attempt(ctx context.Context, at agents.Attempt) (agents.Result, error) {
	messages, err := a.opening(at.Example)
	if err != nil {
		return agents.Result{}, &agents.Failure{Class: outcomes.FailExample, Err: err}
	}
	log, err := agents.OpenLog(ctx, a.config.Logs, at.TrajectoryID)
	if err != nil {
		return agents.Result{}, err
	}
	defer log.Close()
	return Loop{Client: a.client, Fields: a.fields, Turns: a.config.Turns, Ends: a.ends,
		Answer: func(ctx context.Context, call formats.ToolCall) (string, bool, error) {
			return a.answerTool(ctx, at, call, log)
		},
	}.Run(ctx, at, messages)
}

// ends reports whether a reply is the last.
func (a *agent) ends(reply formats.Message) bool {
	if len(reply.ToolCalls) == 0 || len(a.tools) == 0 || a.stop != nil && a.stop.MatchString(reply.Content) {
		return true
	}
	return slices.ContainsFunc(reply.ToolCalls, func(c formats.ToolCall) bool {
		return slices.Contains(a.config.StopTools, c.Name)
	})
}

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

// fields returns what templates see. Numbers keep their digits.
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
