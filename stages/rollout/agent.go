package rollout

import (
	"context"
	"encoding/json"
	"time"

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

	BaseURL string // of the recording proxy, for this trajectory alone; ends in /v1
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

// AgentConfig is what the command line knows of an agent. A kind refuses what
// it has no use for.
type AgentConfig struct {
	Words  []string      // of --agent, after "KIND:", split as a shell would
	System string        // template of the system message; chat
	User   string        // template of the user message; chat
	Dir    string        // working folder of programs; command
	Env    []string      // KEY=VALUE for programs, over the process's own; command
	Grace  time.Duration // between SIGTERM and SIGKILL of a program's process group; default 2 s; command
	Client Client        // asks the model; chat
}

// Client asks a model for the next message. Backends implement it; cmd hands
// one in.
type Client interface {
	// Chat sends messages to baseURL/chat/completions. fields are added to the
	// request as they are (tools, temperature, ...).
	Chat(ctx context.Context, baseURL, apiKey, model string, messages []formats.Message, fields map[string]any) (formats.Message, error)
}

// AgentKind is a kind of agent, by the name that --agent calls it.
type AgentKind struct {
	Name  string
	Usage string // of --agent: one line
	New   func(AgentConfig) (Agent, error)
}
