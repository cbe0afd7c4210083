package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/internal/remote"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/storage/fault"
)

// probeTimeout is the limit for one token, from an engine that may be loading
// its model.
const probeTimeout = 5 * time.Minute

// reach checks that an endpoint answers before any attempt begins. One of
// several is enough. It returns what the logprobs of each endpoint are of.
func (o Options) reach(ctx context.Context) (logprobs map[string]string, _ error) {
	var errs []error
	logprobs = map[string]string{}
	for _, e := range o.Endpoints {
		probe := listModels
		if o.Probe && !o.NoLogprobs {
			probe = o.Prober
		}
		limited, cancel := context.WithTimeout(ctx, probeTimeout)
		url := strings.TrimRight(e, "/")
		mode, err := probe(limited, url, o.APIKey, o.Model)
		logprobs[url] = mode
		cancel()
		if err != nil && ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
			err = fault.Errorf(fault.Temporary, "is the engine overloaded?", "rollout: %q: no answer within %s: %w", e,
				probeTimeout, err)
		}
		if err != nil {
			o.Logger().Warn("an endpoint does not answer", "endpoint", e, "error", err)
			errs = append(errs, err)
		}
	}
	if len(errs) < len(o.Endpoints) {
		return logprobs, nil
	}
	return nil, errors.Join(errs...)
}

// listModels requests the list of models. Any answer is good, except one that
// refuses the key.
func listModels(ctx context.Context, baseURL, apiKey, _ string) (string, error) {
	c := remote.Client{Sign: func(r *http.Request) { remote.Authorize(r, apiKey) }}
	_, err := c.Do(ctx, remote.Request{URL: baseURL + "/models", Limit: 30 * time.Second}, nil)
	switch status := remote.Status(err); {
	case remote.MendOf(err) != "" && status != http.StatusNotFound: // not every engine lists its models
		return "", remote.Refuses(remote.MendOf(err), keyFrom, "rollout: the engine refuses everybody: %q: %w", baseURL, err)
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil && status == 0:
		return "", fault.Errorf(fault.Temporary, "is the engine running, and is this its address?",
			"rollout: failed to connect to %q: %w", baseURL, cmp.Or(errors.Unwrap(err), err))
	}
	return "", nil
}

// lost returns the error of a model that no endpoint answers: a temporary one if time may mend an endpoint. It is nil
// if one answers, or refuses only this request.
func (o Options) lost(ctx context.Context, model, api string) (lost *fault.Error) {
	c := remote.Client{Name: "rollout: the engine is lost", Sign: func(r *http.Request) { remote.Authorize(r, o.APIKey) },
		Secrets: []string{o.APIKey}}
	body := map[string]any{"model": model, "max_tokens": 1, "messages": []map[string]string{{"role": "user", "content": "Hello"}}}
	if api == "/completions" {
		body = map[string]any{"model": model, "max_tokens": 1, "prompt": "Hello"}
	}
	for _, url := range o.Endpoints {
		_, err := c.Do(ctx, remote.Request{Method: http.MethodPost, URL: strings.TrimRight(url, "/") + api, JSON: body,
			Limit: min(cmp.Or(o.CallTimeout, probeTimeout), probeTimeout)}, nil)
		var failed *remote.Error
		switch mend := remote.MendOf(err); {
		case mend != "" && lost == nil:
			lost = remote.Refuses(mend, keyFrom, "%w (model %q)", err, model)
		case mend != "":
		case errors.As(err, &failed) && failed.Retry:
			lost = fault.Errorf(fault.Temporary,
				"is the engine up? look at its log; then run the same command again, which makes the rest",
				"%w (model %q)", err, model)
		default:
			return nil
		}
	}
	return lost
}

const keyFrom = "that of --api-key-file, ROLLMILL_API_KEY or OPENAI_API_KEY, in this order"

// startTime is how long a check waits for an agent's first call.
const startTime = 20 * time.Second

// failTime is how long it then waits for the attempt to fail by itself.
const failTime = 2 * time.Second

var errAsked = errors.New("the agent asked the model")

// TryAgent starts the agent's first attempt, for `rollmill check`. The model's
// address is a server that refuses every call, so nothing is paid for; the
// attempt is ended at the first call, or soon after with KeepAgent. It returns a sentence with the result.
func (o Options) TryAgent(ctx context.Context) (found string, err error) {
	o = o.defaults()
	if !o.KeepAgent {
		defer func() { err = errors.Join(err, o.CloseAgent()) }()
	}
	if !o.asksEngine() {
		return "it asks no engine", nil
	}
	if o.Examples.Len() == 0 {
		return "", o.noExamples()
	}
	e, err := o.Examples.At(0)
	if err != nil {
		return "", err
	}
	limited, cancel := context.WithTimeoutCause(ctx, startTime, errTimeout)
	defer cancel()
	begun, asked := context.WithCancelCause(limited)
	var called atomic.Bool
	url, stop, err := serveNothing(o, func() {
		called.Store(true)
		if o.KeepAgent { // a process that fails by itself need not be ended
			time.AfterFunc(failTime, func() { asked(errAsked) })
			return
		}
		asked(errAsked)
	})
	if err != nil {
		return "", err
	}
	defer stop()
	r := &runner{opts: o}
	_, err = r.ask(begun, agents.Attempt{Example: o.hidden(e),
		TrajectoryID: formats.TrajectoryID(o.Run+"-check", e.ID, o.AtEpoch(), 0), Epoch: o.AtEpoch(),
		BaseURL: url, APIKey: agentKey, Model: cmp.Or(o.Model, "check")}) // a receipt may name the model only later
	switch cause := context.Cause(begun); {
	case called.Load():
		return "it starts, and asks the model", nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(cause, errTimeout):
		return fmt.Sprintf("it starts; it asked the model nothing within %s", startTime), nil
	case err != nil:
		return "", fault.Errorf(fault.Usage,
			fmt.Sprintf("it was given example %q and ended before it asked the model", e.ID),
			"rollout: the agent cannot start: %w", err)
	}
	return "it starts; it ended without asking the model", nil
}

// serveNothing listens at the recording proxy's address and refuses every call.
func serveNothing(o Options, asked func()) (url string, stop func(), err error) {
	l, err := net.Listen("tcp", cmp.Or(o.Listen, "127.0.0.1:0"))
	if err != nil {
		return "", nil, fmt.Errorf("rollout: listening for the agents' calls: %w", err)
	}
	server := &http.Server{ReadHeaderTimeout: startTime,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Should-Retry", "false")
			http.Error(w, `{"error":{"message":"this is a check: no model answers","type":"rollmill_check"}}`,
				http.StatusServiceUnavailable)
			asked()
		})}
	go server.Serve(l)
	url = "http://" + l.Addr().String()
	if o.Advertise != "" {
		url = strings.TrimRight(o.Advertise, "/")
	}
	return url + "/t/check/v1", func() { server.Close() }, nil
}
