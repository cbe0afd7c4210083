// Package http is the agent that is a service: each attempt is one POST of a task, as the
// guide "protocol-agent" describes. Any status but 2xx fails the trajectory, with the
// body's beginning in its error. When the trajectory is ended, the connection is closed. A
// redirect is followed only to the same host and port, and as a POST.
//
// Host and port are not part of the dataset's identity, so a service that moved is the
// same agent; one that changed needs a new version before the address. A key is read from
// ROLLMILL_AGENT_API_KEY, never from the URL.
package http

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/internal/remote"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

var Kind = plugin.Kind[agents.Settings]{
	Name: "http",
	Help: "call a service with each trajectory's base URL: --agent 'http: URL'",
	New:  func() agents.Settings { return &Settings{} },
}

// Settings are the agent's: its address.
type Settings struct{ agents.ServiceSettings }

const (
	maxAnswer = 1 << 20
	tries     = 6
	first     = 500 * time.Millisecond // before the second try
)

type agent struct {
	address remote.Address
	client  remote.Client
}

// Agent checks the address; nothing is sent there yet.
func (s *Settings) Agent(context.Context, agents.Setup) (agents.Agent, error) {
	address, err := s.Address("http")
	if err != nil {
		return nil, err
	}
	key := s.Key
	return &agent{address: address,
		client: remote.Client{HTTP: remote.NewHTTP(math.MaxInt), MaxBytes: maxAnswer, Explain: explain,
			Sign: func(r *http.Request) { remote.Authorize(r, key) }}}, nil
}

func (a *agent) Describe() agents.Description {
	const connections = 3 // to the service, from it to the recording proxy, and on to the engine
	return agents.Description{Kind: "http", Params: agents.AddressParams(a.address), OpenFiles: connections}
}

func (a *agent) Close() error {
	a.client.HTTP.CloseIdleConnections()
	return nil
}

// Attempt is part of agents.Agent. A service that cannot be reached got no
// request, so it is retried for a while.
func (a *agent) Attempt(ctx context.Context, at agents.Attempt) (agents.Result, error) {
	task, err := at.TaskLine()
	if err != nil {
		return agents.Result{}, err
	}
	body, err := remote.Retry(ctx, tries, first, func() (answer []byte, err error) {
		_, err = a.client.Do(ctx, remote.Request{Method: http.MethodPost, URL: a.address.URL.String(),
			Body: bytes.NewReader(task), Size: int64(len(task)), Type: "application/json", Limit: -1}, &answer)
		return answer, err
	})
	if err != nil {
		return agents.Result{}, failure(ctx, err)
	}
	return agents.ReadResult(body)
}

// failure is an attempt's error, for that of its request.
func failure(ctx context.Context, err error) error {
	var large remote.TooLargeError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &large):
		return agents.Failf(outcomes.FailAgentOutput, "the agent service answered with more than %d bytes", maxAnswer)
	}
	return &agents.Failure{Class: outcomes.FailAgentExit, Err: err}
}

// explain removes the address, which no row contains. A request that was sent
// is never sent again.
func explain(e *remote.Error, _ *http.Request, answer []byte) {
	e.What, e.Retry = "the agent service", e.Unsent
	if e.Status > 0 {
		e.What = fmt.Sprintf("the agent service: HTTP %d: %s", e.Status,
			strings.TrimSpace(string(answer[:min(len(answer), 1000)])))
	}
}
