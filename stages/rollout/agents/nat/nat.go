// Package nat is the agent that is a NeMo Agent Toolkit server (nat serve):
// each attempt is one POST to its /full stream, and the conversation is rebuilt
// from the intermediate steps that come with the answer. The model's calls do
// not pass the recording proxy, so the workflow itself must ask for logprobs.
//
// Each LLM_START and LLM_END of one id are one call: its prompt is the whole
// context, and its answer has the logprobs. The forms of LangChain, LlamaIndex
// and ADK are recognised by their fields. The calls make a tree.Tree, where
// an answer continues although it came back without its reasoning or with its
// arguments rewritten. Tool results, repeated turns and parallel agents are
// kept; the toolkit's own parsers lose them: they fold all steps into one list,
// drop a repeated message, and give tool calls no ids.
//
// The function of a call is the nearest FUNCTION or WORKFLOW step above it;
// --target-function names it ("<workflow>" or the workflow's own name for the
// outermost), --target-model a model as its steps name it. Candidates that
// test-time compute scored (TTC_END) are kept in the column candidates, for
// pairs at a turn.
//
// A server that streams leaves the tool calls out of LLM_END. They are in the
// next prompt, in the message of the same id, and are read from there.
//
// A server older than the versioned routes is called at /generate/full. A
// server that cannot be reached, is too busy or breaks before its first byte is
// retried for a while; a workflow that failed, or that waits for a person, is
// not.
package nat

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strings"
	"text/template"

	"github.com/ohler55/ojg/jp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/internal/remote"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

var Kind = plugin.Kind[agents.Settings]{
	Name: "nat",
	Help: "call a NeMo Agent Toolkit server and rebuild conversations from its intermediate steps: --agent 'nat: URL'",
	New:  func() agents.Settings { return &Settings{} },
}

type Settings struct {
	agents.ServiceSettings
	Request    string // template of the request's body; "" for defaultBody
	ResultPath string // JSON path of the answer within the workflow's; "" for the whole
}

func (s *Settings) Declare(d *plugin.Declarer) {
	d.Include(&s.ServiceSettings)
	d.Heading(plugin.Rows)
	d.String(&s.Request, "request", "send this `TEMPLATE`, JSON over the example's fields").DefaultShown(defaultBody).
		WrittenToRows().ForModels()
	d.String(&s.ResultPath, "result-path", "take the answer at this JSON `PATH` of the workflow's").DefaultShown("$")
}

type agent struct {
	config  Settings
	setup   agents.Setup
	address remote.Address // its URL has no route
	body    *template.Template
	result  jp.Expr // nil for the whole answer
	client  *http.Client
}

// defaultBody is what the toolkit's own client sends.
const defaultBody = `{"input_message": {{json .question}}}`

// Agent checks the address, the template and the path; nothing is sent yet.
func (s *Settings) Agent(_ context.Context, set agents.Setup) (agents.Agent, error) {
	c := *s
	address, err := c.Address("nat")
	if err != nil {
		return nil, err
	}
	if address.URL.RawQuery != "" {
		return nil, agents.Usage("write http://HOST:PORT",
			"agent nat: the URL has a query, which the server's routes do not support")
	}
	address.URL = base(address.URL)
	a := &agent{config: c, setup: set, address: address, client: remote.NewHTTP(math.MaxInt)}
	a.setup.TargetModel = cmp.Or(set.TargetModel, set.Model)
	a.config.Request = cmp.Or(c.Request, defaultBody)
	if a.body, err = agents.Template("--request", a.config.Request, "{{json .question}}"); err != nil {
		return nil, err
	}
	if c.ResultPath != "" && c.ResultPath != "$" {
		if a.result, err = jp.ParseString(c.ResultPath); err != nil {
			return nil, agents.Usage("a JSON path, such as $.output or $.items[0].text", "--result-path %q: %w",
				c.ResultPath, err)
		}
	}
	return a, nil
}

// base removes the routes from a URL: people include them, because the
// toolkit's help suggests it.
func base(u *url.URL) *url.URL {
	out := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/")}
	for _, route := range append(routes, "/generate", "/v1/workflow") {
		if rest, ok := strings.CutSuffix(out.Path, route); ok {
			out.Path = rest
			break
		}
	}
	return out
}

func (a *agent) Describe() agents.Description {
	params := agents.AddressParams(a.address)
	maps.Copy(params, map[string]any{"request": a.config.Request, "result_path": a.config.ResultPath,
		"target_model": a.setup.TargetModel, "target_functions": a.setup.Functions, "no_logprobs": a.setup.NoLogprobs,
		"accept_finish": a.setup.AcceptFinish, "train_alternatives": a.setup.TrainAlternatives})
	return agents.Description{Kind: "nat", Params: params, Stored: a.stored, Paid: true}
}

func (a *agent) Close() error {
	a.client.CloseIdleConnections()
	return nil
}

// Attempt is part of agents.Agent; the runner calls stored.
func (a *agent) Attempt(context.Context, agents.Attempt) (agents.Result, error) {
	return agents.Result{}, errors.New("agent nat's calls pass no recorder")
}

// stored returns a row that is complete, whether or not the workflow failed.
func (a *agent) stored(ctx context.Context, at agents.Attempt) (formats.Trajectory, error) {
	body, err := a.request(at)
	if err != nil {
		return formats.Trajectory{}, err
	}
	s, broken := a.ask(ctx, at, body)
	if ctx.Err() != nil {
		return formats.Trajectory{}, context.Cause(ctx)
	}
	if s == nil {
		return formats.Trajectory{}, broken
	}
	return a.row(s, broken), nil
}

func (a *agent) request(at agents.Attempt) ([]byte, error) {
	fields := map[string]any{}
	_ = json.Unmarshal(at.Example.Fields, &fields)
	for name, v := range map[string]any{"id": at.Example.ID, "question": at.Example.Question, "answer": at.Example.Answer} {
		if _, there := fields[name]; !there {
			fields[name] = v
		}
	}
	var b bytes.Buffer
	if err := a.body.Execute(&b, fields); err != nil {
		return nil, agents.Failf(outcomes.FailExample, "example %q: %w", at.Example.ID, err)
	}
	if !json.Valid(b.Bytes()) {
		return nil, agents.Failf(outcomes.FailExample, "example %q: --request makes no JSON of it: %.200s",
			at.Example.ID, b.Bytes())
	}
	return b.Bytes(), nil
}
