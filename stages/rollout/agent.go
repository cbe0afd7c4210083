package rollout

import (
	"context"
	"encoding/json"

	"github.com/rollmill/rollmill/formats"
)

// Agent makes attempts. It is safe for concurrent use.
type Agent interface {
	// Describe says what decides the agent's behaviour, for the identity.
	Describe() Description

	// Attempt makes one attempt; every model call of it goes to a.BaseURL. A
	// *Failure says of which class an error is; any other counts as internal.
	// When ctx ends it returns soon, with nothing left running.
	Attempt(ctx context.Context, a Attempt) (Result, error)
}

// Description is what an agent is. Everything in it is part of the identity.
type Description struct {
	Kind   string
	Params map[string]any    // JSON-encodable
	Files  map[string]string // name as given -> digest of its content
}

// Attempt is what an agent is given.
type Attempt struct {
	Example      formats.Example
	TrajectoryID string
	Run          string
	Epoch        int
	Generation   int
	Seed         *int64 // of this trajectory; nil without a sampling seed

	// BaseURL is of the recording proxy, for this trajectory alone; it ends in
	// /v1. An agent of several functions may tell which of them calls: by
	// writing /f/FUNCTION/v1 there, or in the header X-Rollmill-Function.
	BaseURL string
	APIKey  string // what to send there; never the engine's own key
	Model   string
}

// Result is what an agent says of an attempt that went well.
type Result struct {
	Stop     string          // formats.StopDone (also "") or formats.StopTurns
	Metadata json.RawMessage // a JSON object, or nil
}

// Failure is an attempt's error with its class, one of formats.FailureClasses.
type Failure struct {
	Class string
	Err   error
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// Closer is an optional power of an Agent that keeps something running
// between attempts. The next attempt starts it anew.
type Closer interface{ Close() error }

// Limited is an optional power of an Agent: no more attempts than Limit are
// made at once.
type Limited interface{ Limit() int }

// Stored is an optional power of an Agent whose attempts are made elsewhere or
// were made before: the runner takes the row as it is, gives it the new
// attempt's ids, and asks no engine. A trajectory that is not there, or whose
// maker cannot be asked, is a *Failure. Any other error ends the run: what the
// attempts are read from is damaged or cannot be read.
type Stored interface {
	Stored(ctx context.Context, a Attempt) (formats.Trajectory, error)
}

// Paid is an optional power of a Stored agent whose attempts ask a model now:
// budgets count what their rows say, and failures of all the first end the run.
type Paid interface{ Paid() }

// Client asks a model for the next message. Backends implement it; cmd hands
// one in.
type Client interface {
	// Chat sends messages to baseURL/chat/completions. fields are added to the
	// request as they are (tools, temperature, ...).
	Chat(ctx context.Context, baseURL, apiKey, model string, messages []formats.Message, fields map[string]any) (formats.Message, error)
}
