package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/storage/fault"
)

// Agent makes attempts. It is safe for concurrent use.
type Agent interface {
	// Describe returns what does not change while the agent lives. An agent that says
	// nothing, not even its kind, is refused.
	Describe() Description

	// Attempt makes one attempt. All its model calls go to a.BaseURL. An error
	// is either a *Failure with its class or counts as internal. When ctx ends,
	// Attempt returns soon and leaves nothing running.
	Attempt(ctx context.Context, a Attempt) (Result, error)

	// Close ends what the agent keeps running between attempts; the next attempt starts it
	// anew. It may be called twice.
	Close() error
}

// Description is what the stage has to know of an agent.
type Description struct {
	// Kind, Params and Files decide the agent's behaviour: they are part of the identity.
	Kind   string
	Params map[string]any    // JSON-encodable
	Files  map[string]string // name as given -> digest of its content

	Limit int // how many attempts are made at once, at most; 0: as many as the user wants

	// OpenFiles is how many files of this process an attempt holds open while it waits for
	// the model, at least: among them the connections to the recording proxy and from there
	// to the engine. 0: 2 if the agent asks the engine, else none.
	OpenFiles int

	// Stored returns an attempt that is made elsewhere or was made before, and is called in
	// place of Attempt; nil: the agent asks the engine. The runner takes the row as it is,
	// gives it the new attempt's ids, and asks no engine. A trajectory that is missing, or
	// whose service cannot be reached, is a *Failure. Any other error ends the run: the
	// source of the attempts is damaged or cannot be read.
	Stored func(ctx context.Context, a Attempt) (formats.Trajectory, error)

	Workspaces bool // it can call Attempt.Keep

	// Paid says that stored attempts call a model now: budgets count the usage in their
	// rows, and the run ends when the first attempts all fail.
	Paid bool
}

// Attempt is the input of one attempt.
type Attempt struct {
	Example      formats.Example
	TrajectoryID string
	Epoch        int
	Generation   int
	Seed         *int64 // of this trajectory; nil without a sampling seed

	// BaseURL is the recording proxy's URL for this trajectory alone; it ends
	// in /v1. An agent of several functions may name the calling function: by
	// the path /f/FUNCTION/v1, or by the header X-Rollmill-Function. With the header X-Rollmill-Resume: off
	// an attempt gets no answers of one that died.
	BaseURL string
	APIKey  string // what to send there; never the engine's own key
	Model   string

	// Work is the path of a folder for the attempt's files, the same when it is started again
	// after a crash. WorkIn makes it.
	Work string

	// Keep keeps what the attempt changed in its container, before the row that names it; nil: it is not wanted.
	// It is durable when Keep returns.
	Keep func(ctx context.Context, w formats.Workspace, archive io.Reader) error

	// HTTP reaches BaseURL without a connection, for agents whose calls are
	// made in this process; nil: only BaseURL's server does.
	HTTP *http.Client
}

// Result is what an agent reports after a successful attempt.
type Result struct {
	Stop     string             // outcomes.StopDone (also "") or outcomes.StopTurns
	Answer   *string            // nil: the content of the last sampled message
	Reward   *float64           // finite; nil: none
	Rewards  map[string]float64 // further components, finite, each with weight 0
	Metadata json.RawMessage    // a JSON object, or nil
	Lost     []string           // fields whose value was NaN or infinite: they are null

	ToolErrors formats.ToolErrors // of the tools that the agent called; nil: it does not say

	Artifacts []formats.Artifact // kept also of an attempt that failed
}

// Failure is an attempt's error with its class, one of outcomes.FailureClasses.
type Failure struct {
	Class string
	Err   error
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// Failf returns a failure of a class.
func Failf(class, format string, args ...any) *Failure {
	return &Failure{class, fmt.Errorf(format, args...)}
}

// Client asks a model for the next message. Backends implement it, and cmd
// passes one in.
type Client interface {
	// Chat sends messages to baseURL/chat/completions, over the given HTTP
	// client or, for nil, its own. fields are added to the request unchanged
	// (tools, temperature, ...).
	Chat(ctx context.Context, over *http.Client, baseURL, apiKey, model string, messages []formats.Message,
		fields map[string]any) (formats.Message, error)
}

// Usage returns an error of kind usage.
func Usage(hint, format string, args ...any) error {
	return fault.Errorf(fault.Usage, hint, "rollout: "+format, args...)
}
