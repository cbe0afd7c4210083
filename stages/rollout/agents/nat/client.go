package nat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/internal/remote"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/storage/fault"
)

// routes of the stream of raw steps: the versioned one, and that of servers
// without it.
var routes = []string{"/v1/workflow/full", "/generate/full"}

// The steps from which an attempt is rebuilt; the server is asked for no
// others. Any START may be the parent of a step.
var wanted = []string{"LLM_START", "LLM_END", "TTC_END", "FUNCTION_START", "WORKFLOW_START", "TOOL_START", "TASK_START",
	"TTC_START", "CUSTOM_START", "SPAN_START"}

const (
	tries = 6                      // of a server that is away or busy
	first = 500 * time.Millisecond // before the second
)

// ask makes one attempt. It returns nothing if the server did not begin to
// answer; the error is then a *agents.Failure.
func (a *agent) ask(ctx context.Context, at agents.Attempt, body []byte) (*stream, error) {
	resp, err := remote.Retry(ctx, tries, first, func() (*http.Response, error) { return a.begin(ctx, at, body) })
	if err != nil {
		var f *agents.Failure
		if errors.As(err, &f) {
			return nil, f
		}
		return nil, agents.Failf(outcomes.FailAgentExit, "the workflow's server: %w", err)
	}
	defer resp.Body.Close()
	return readStream(resp.Body)
}

// begin posts to the first existing route, and returns once the server answers
// with a stream.
func (a *agent) begin(ctx context.Context, at agents.Attempt, body []byte) (*http.Response, error) {
	var last error
	for _, route := range routes {
		resp, err := a.post(ctx, a.address.URL.String()+route, at, body)
		if err != nil {
			return nil, err // not there, or away: asked again
		}
		if resp.StatusCode == http.StatusOK {
			return resp, nil
		}
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 2000))
		resp.Body.Close()
		last = remote.RetryAfter(refusal(route, resp.StatusCode, strings.TrimSpace(string(text))), resp.Header)
		if resp.StatusCode != http.StatusNotFound && resp.StatusCode != http.StatusMethodNotAllowed {
			return nil, last
		}
	}
	return nil, last
}

func (a *agent) post(ctx context.Context, to string, at agents.Attempt, body []byte) (*http.Response, error) {
	q := url.Values{"filter_steps": {strings.Join(wanted, ",")}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to+"?"+q.Encode(), bytes.NewReader(body))
	if err != nil {
		return nil, fault.Permanent(err)
	}
	req.Header.Set("Content-Type", "application/json")
	remote.Authorize(req, a.config.Key)
	// workflows that keep a user's state start a new one
	req.AddCookie(&http.Cookie{Name: "nat-session", Value: at.TrajectoryID})
	resp, err := a.client.Do(req)
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return resp, err
}

// refusal returns the error of a status other than 200. Two kinds of failure
// share 422: a request that the workflow's input does not accept has a detail,
// a workflow that raised an exception has a code.
func refusal(route string, status int, text string) error {
	class, why := outcomes.FailAgentExit, fmt.Sprintf("the workflow's server: %s: HTTP %d: %s", route, status, text)
	switch {
	case status == http.StatusTooManyRequests || status >= 500:
		return agents.Failf(class, "%s", why)
	case status == http.StatusAccepted:
		why = "the workflow waits for a person, and no person answers in a rollout: " + text
	case status == http.StatusUnprocessableEntity && strings.Contains(text, `"code"`):
		why = "the workflow failed: " + text
	case status == http.StatusUnprocessableEntity:
		class, why = outcomes.FailExample, "the workflow does not take this request (see --request): "+text
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		why = fmt.Sprintf("the server has no stream of steps at %s: HTTP %d: %s", strings.Join(routes, " or "), status, text)
	}
	return fault.Permanent(agents.Failf(class, "%s", why))
}
