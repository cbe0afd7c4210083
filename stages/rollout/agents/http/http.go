// Package http is the agent that is a service: each attempt is one POST of a
// JSON object,
//
//	{"id","question","answer","fields":{…},"generation","epoch","trajectory_id","seed","base_url","api_key","model"}
//
// and the service makes its model calls at base_url, which is this
// trajectory's alone, until it answers with status 2xx. The body may be
// {"metadata":{…},"stop":"done|turns"} or {"error":"…"}; another body is
// ignored. Any other status fails the trajectory, with the body's beginning in
// its error. When the trajectory is ended, the connection is.
//
// Host and port are not part of the dataset's identity, so a service that moved
// is the same agent. One that was changed is another when it says so: a version
// stands before the address, "http: version=2,http://127.0.0.1:9000/run". A key
// comes from ROLLMILL_AGENT_API_KEY, never from the URL.
//
// It is not a client of agent protocols; for the NeMo Agent Toolkit see
// agents/nat. A service on another machine must reach the recording proxy:
// give that an address with --listen and --advertise.
package http

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/cenkalti/backoff/v5"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout"
)

// Kind is the agent's entry in agents/all.
var Kind = rollout.AgentKind{
	Name:  "http",
	Usage: "http: URL: a service that is told each trajectory's base URL in the request",
	New:   New,
}

const maxAnswer = 1 << 20

type agent struct {
	service rollout.Service
	client  *http.Client
}

// New checks the address; nothing is sent there yet.
func New(c rollout.AgentConfig) (rollout.Agent, error) {
	if c.System != "" || c.User != "" {
		return nil, usage("a service makes its own messages", "--system and --user are for agent chat")
	}
	service, err := rollout.ParseService("http", c.Words)
	if err != nil {
		return nil, err
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 256
	return &agent{service: service, client: &http.Client{Transport: t}}, nil
}

// Describe is part of rollout.Agent.
func (a *agent) Describe() rollout.Description {
	return rollout.Description{Kind: "http", Params: a.service.Params()}
}

// Close is part of rollout.Closer.
func (a *agent) Close() error {
	a.client.CloseIdleConnections()
	return nil
}

// Attempt is part of rollout.Agent. A service that cannot be reached was not
// asked anything, so it is tried again for a while.
func (a *agent) Attempt(ctx context.Context, at rollout.Attempt) (rollout.Result, error) {
	task, err := at.TaskAt().Line()
	if err != nil {
		return rollout.Result{}, err
	}
	body, err := backoff.Retry(ctx, func() ([]byte, error) {
		body, err := a.post(ctx, task)
		var op *net.OpError
		if err != nil && !(errors.As(err, &op) && op.Op == "dial") {
			err = backoff.Permanent(err)
		}
		return body, err
	}, backoff.WithMaxElapsedTime(0), backoff.WithMaxTries(6))
	var failure *rollout.Failure
	switch {
	case err != nil && ctx.Err() != nil:
		return rollout.Result{}, context.Cause(ctx)
	case errors.As(err, &failure):
		return rollout.Result{}, failure
	case err != nil:
		return rollout.Result{}, &rollout.Failure{Class: formats.FailAgentExit, Err: err}
	}
	return rollout.ReadResult(body)
}

func (a *agent) post(ctx context.Context, task []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.service.URL.String(), bytes.NewReader(task))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if a.service.Key != "" {
		req.Header.Set("Authorization", "Bearer "+a.service.Key)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return nil, fmt.Errorf("the agent service: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the agent service: %w", err)
	case len(body) > maxAnswer:
		return nil, &rollout.Failure{Class: formats.FailAgentOutput, Err: fmt.Errorf("the agent service answered with more than %d bytes", maxAnswer)}
	case resp.StatusCode/100 != 2:
		return nil, fmt.Errorf("the agent service: HTTP %d: %s", resp.StatusCode, strings.TrimSpace(string(body[:min(len(body), 1000)])))
	}
	return body, nil
}

func usage(hint, format string, args ...any) error {
	return stages.Errorf(stages.KindUsage, hint, "rollout: "+format, args...)
}
