package rollout

import (
	"context"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages"
)

// Options say what to run. The first block decides the rows and is part of the
// dataset's identity; the second is how, and is not.
type Options struct {
	stages.Env
	Out stages.Output

	Run          string       // name of the run, part of every trajectory id
	Root         string       // URI of the run's folder, which holds its id; not part of the identity; default: dataset.RootOf the output
	Epoch        int          // from 0
	Examples     Examples     // in the order that the rows will have; whoever opened them closes them
	ExamplesRef  dataset.Ref  // where they came from, with the digest of the file; Role defaults to "examples"
	Generations  int          // attempts at each example; default 1
	Plan         *Plan        // attempt only the examples of this plan, as often as it says; nil: all, Generations times
	Extend       stages.Input // with Plan: rollouts that are copied, the new attempts beside them; URI "" for none
	Agent        Agent
	Model        string          // asked for; default: the policy's
	Policy       *formats.Policy // of the last receipt, or nil: gives model, endpoint and version, and answers are checked against it
	TargetModel  string          // calls to this model are the ones to train on; default: Model
	Functions    []string        // and, unless empty, made by one of these functions of the agent (see Attempt.BaseURL)
	AcceptModels []string        // further names that an answer may carry; "*" for any
	Sampling     map[string]any  // request fields for calls that do not set them: temperature, top_p, max_tokens, stop, ...
	SamplingSeed *int64          // nil: the engine is sent no seed
	Extra        map[string]any  // request fields that make the engine return token ids; nil: recorder.DefaultExtra
	NoLogprobs   bool            // keep trajectories although the engine gives no logprobs
	MaxCalls     int             // a trajectory that asks for one call more is truncated; 0 means no limit
	MaxTokens    int64           // one whose calls took as many tokens and that asks for another is truncated; 0 means no limit
	AcceptFinish []string        // finish reasons that count as the end of an answer, besides formats.EndedReasons; "null" for none

	TrainAlternatives    bool     // answers that the agent did not choose stay in the tree and train; otherwise they become candidates (see recorder.SetAside)
	TolerateEngineErrors bool     // keep trajectories that ended well although a call failed at the engine and no later one succeeded
	Uses                 []string // further files whose content decides the rows

	Endpoints         []string      // base URLs of OpenAI-compatible servers, ending in /v1; default: the policy's
	APIKey            string        // sent to the endpoints, never to agents
	Listen            string        // address of the recording proxy; default 127.0.0.1:0
	Advertise         string        // base URL by which agents reach it, without path; default: its address
	Concurrency       int           // trajectories at once; default 16
	TrajectoryTimeout time.Duration // default 30 minutes
	CallTimeout       time.Duration // of one request to the engine; default 10 minutes
	Retries           int           // further tries of a call; 0 means 5, negative none
	Backoff           time.Duration // before the first retry; grows to 64 times as much; default 500 ms
	RateLimit         float64       // requests a second to all endpoints together; 0 means no limit
	Slowdown          float64       // fewer calls at once when a token takes this many times as long as at best; 0 means 10, negative never
	Budget            Budget        // zero: none
	MaxFailureRate    *float64      // gate; nil means 0.5
	RetryFailed       bool          // attempt again what failed or was skipped in earlier runs of this command, even when they finished the dataset
	Lease             time.Duration // another rollout of this shard takes over when this one is silent for one and a half times as long; default 30 s
	JournalEvery      time.Duration // a finished trajectory is durable within this time; default 2 s

	MaxInitialFailures int // stop when the first this many trajectories all fail, for whatever reason; 0 means 2 x concurrency, at least 8; negative never

	// Probe looks at an endpoint before anything is paid for; nil: only that
	// something answers there. It may cost a few tokens. logprobs is what the
	// engine's logprobs are found to be of, a value of calls.logprobs_mode.
	Probe func(ctx context.Context, baseURL, apiKey, model string) (logprobs string, err error)
}
