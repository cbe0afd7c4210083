package rollout

import (
	"context"
	"strconv"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/tree"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/planning"
	"github.com/rollmill/rollmill/stages/rollout/watch"
)

// DefaultConcurrency is the default of Options.Concurrency.
const DefaultConcurrency = 16

// Options are the settings of a run: the first block decides the rows and is part of the dataset's identity, the other
// how they are made. Those that a user sets are explained where they are declared, with the defaults for which zero stands.
type Options struct {
	stages.Env
	Out stages.Output

	Run         string // name of the run, part of every trajectory id
	Root        string // URI of the run's folder, which holds its id; default: runroot.Of the output
	Epoch       *int
	Examples    planning.Examples  // in the order of the rows; the caller closes them
	ExamplesRef manifest.Ref       // their URI, with the digest of the file; Role defaults to "examples"
	Columns     formats.FieldNames // of the task file, from which id, question and answer come; "" for the defaults
	Hide        []string
	Generations int
	Plan        *planning.Plan     // attempt only its examples, as often as it says; nil: all, Generations times
	Extend      stages.Input       // with Plan: rollouts that are copied, the new attempts among them; URI "" for none
	Agent       agents.Agent       // MakeAgent makes it as Agents says
	agent       agents.Description // what it says, once defaults were called
	Agents      agents.Chosen
	KeepAgent   bool // its processes stay for the caller's next rollout; it calls CloseAgent
	Model       string

	// Policy of the last receipt, or nil: gives model, endpoint and version, and answers are checked against it.
	Policy               *receipts.Policy
	TargetModel          string
	Functions            []string // see Attempt.BaseURL
	AcceptModels         []string
	Sampling             map[string]any
	SamplingSeed         *int64         // nil: the engine is sent no seed
	Extra                map[string]any // nil: apis.DefaultExtra
	NoLogprobs           bool
	MaxCalls             int
	MaxTokens            int64
	AcceptFinish         []string // besides outcomes.EndedReasons
	Alternatives         Alternatives
	Auxiliary            tree.AuxiliaryMode
	AllowPaths           []string // "METHOD /v1/PATH", besides recorder's list
	TolerateEngineErrors bool
	AcceptLeftStreams    bool
	DependsOn            []string
	KeepWorkspace        bool

	Endpoints         []string
	APIKey            string // sent to the endpoints, never to agents
	Listen            string
	Advertise         string
	Concurrency       int
	TrajectoryTimeout time.Duration
	CallTimeout       time.Duration
	Retries           *int
	Backoff           time.Duration // grows to 64 times as much
	RateLimit         float64
	Slowdown          *float64
	Budget            watch.Budget
	MaxFailureRate    *float64
	RetryFailed       bool          // also when they finished the dataset
	ResumeFailed      bool          // with RetryFailed: attempts that the engine or the machine ended get their answers
	Lease             time.Duration // silent for half as long again, a shard is taken over; default 30 s
	Resume            string        // ResumeOn (also ""), ResumeStrict or ResumeOff
	JournalEvery      time.Duration

	// Finished gets each trajectory that this process finished, from several
	// goroutines. It must neither block nor change it. nil for none.
	Finished func(formats.Trajectory)

	MaxInitialFailures int // negative never
	MaxEngineFailures  int // negative never

	Probe bool // by Prober; if no logprobs are needed, any answer of the endpoint is enough
	// Prober tests an endpoint. It may cost a few tokens. logprobs says what
	// the engine's logprobs are of: a value of calls.logprobs_mode.
	Prober func(ctx context.Context, baseURL, apiKey, model string) (logprobs string, err error)
}

// Alternatives is how answers are treated that the agent did not choose.
type Alternatives string

const (
	KeepAlternatives  Alternatives = "keep"  // they become candidates (see tree.SplitAlternatives)
	TrainAlternatives Alternatives = "train" // they stay in the tree and train
)

// Declare declares the user's options, except the datasets.
func (o *Options) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Rows)
	d.OptionalInt(&o.Epoch, "epoch", "run epoch `N`, from 0").Min(0).
		DefaultShown("with --plan the plan's, else 0").Common()
	d.Int(&o.Generations, "generations", "attempt each example `N` times; with --plan, the plan says how often").Min(1).
		Common()
	o.declareAgent(d)
	d.String(&o.Model, "model", "request this `MODEL`").DefaultShown("the policy's").IDAlways("model").WrittenToRows().Common()
	d.String(&o.TargetModel, "target-model", "train on the calls to this `MODEL`; the others are recorded").
		DefaultShown("--model").WrittenToRows()
	d.Strings(&o.Functions, "target-function",
		"train only on calls that this function of the agent made: those at .../f/`NAME`/v1, or with the header "+
			"X-Rollmill-Function").ID("target_functions")
	d.Strings(&o.AcceptModels, "accept-model", "also accept answers from this `MODEL`; * for any").ID("accept_models").WrittenToRows()
	d.Objects(&o.Sampling, "sampling", "set `KEY=VALUE` in calls that do not set it: temperature, top_p, max_tokens, ...").
		IDAlways("sampling").Common()
	d.OptionalInt64(&o.SamplingSeed, "sampling-seed",
		"send the engine a seed that derives from `SEED`, the trajectory and the call").ID("sampling_seed")
	d.Objects(&o.Extra, "extra", "set `KEY=VALUE` in requests so that the engine returns token ids").
		DefaultShown("what vLLM and SGLang understand").IDAlways("extra")
	d.Strings(&o.AllowPaths, "allow-path",
		"let the agent send this `REQUEST` to the engine as well, such as 'GET /v1/files/*'; model calls, models, "+
			"embeddings and their like need no permission").ID("allow_paths")
	d.Int(&o.MaxCalls, "max-calls", "truncate a trajectory that makes more than `N` model calls").Min(0).
		DefaultShown("no limit").
		ID("max_calls")
	d.Int64(&o.MaxTokens, "max-tokens-per-trajectory",
		"truncate a trajectory that makes another call after `N` prompt and completion tokens").Min(0).DefaultShown("no limit").
		ID("max_tokens_per_trajectory")
	d.Bool(&o.NoLogprobs, "no-logprobs", "keep trajectories although the engine gives no logprobs").ID("no_logprobs")
	d.Strings(&o.AcceptFinish, "accept-finish",
		"treat answers with this finish `REASON` as complete, such as content_filter, or null for none; otherwise a "+
			"trajectory fails if its last answer ends for a reason other than stop, tool_calls and their synonyms").
		ID("accept_finish")
	d.Bool(&o.TolerateEngineErrors, "tolerate-engine-errors",
		"keep a trajectory that ended normally after an engine error with no later successful call").
		ID("tolerate_engine_errors")
	d.Bool(&o.AcceptLeftStreams, "accept-left-streams",
		"keep a trajectory whose agent stopped reading a stream before its end; otherwise it fails unless a later call of that conversation was answered").
		ID("accept_left_streams")
	plugin.Choice(d, &o.Alternatives, "alternatives",
		"treat answers that the agent did not choose (of n > 1, or to a prompt that it asked again) in this `WAY`: keep "+
			"them as candidates, or train on them as well", KeepAlternatives, TrainAlternatives).
		DefaultShown(string(KeepAlternatives)).ID("alternatives")
	plugin.Choice(d, &o.Auxiliary, "auxiliary",
		"treat auxiliary calls, such as those for a title or a summary, in this `WAY`: record them and skip them in training, or train "+
			"on them; a call is auxiliary if no call of its conversation offers tools, and a call of another conversation of the attempt does",
		tree.AuxiliarySkip, tree.AuxiliaryTrain).DefaultShown(string(tree.AuxiliarySkip)).ID("auxiliary")
	d.Strings(&o.DependsOn, "depends-on", "include the content of this `FILE` in the dataset's identity")
	d.Bool(&o.KeepWorkspace, "keep-workspace", "keep what each attempt changed in its container, beside the rows, to verify it again later "+
		"(--agent harbor only)").ID("keep_workspace")
	o.declareExecution(d)
	d.Heading(plugin.Checks)
	d.OptionalFloat(&o.MaxFailureRate, gateName, "refuse the dataset if more than this `SHARE` of trajectories failed").
		DefaultShown("0.5")
}

// DeclareReplay declares the settings that Replay uses.
func (o *Options) DeclareReplay(d *plugin.Declarer) {
	d.Heading(plugin.Input)
	o.declareAgent(d)
	d.String(&o.Model, "model", "name the model to the agent as `MODEL`").DefaultShown("the recorded one")
	d.Heading(plugin.Execution)
	o.declareConcurrency(d)
	o.declareTimeout(d)
}

func (o *Options) declareAgent(d *plugin.Declarer) {
	plugin.ChooseSpec(d, &o.Agents, "agent", "run the agent `KIND[:WORDS]`", agents.SetWords).Common()
	d.Strings(&o.Hide, "hide",
		"keep this `FIELD` of the examples, such as answer, from the agent; a path with dots for a nested one").ID("hide")
}

func (o *Options) declareConcurrency(d *plugin.Declarer) {
	d.Int(&o.Concurrency, "concurrency", "run `N` trajectories at once").Min(0).DefaultShown("16").Common()
}

func (o *Options) declareTimeout(d *plugin.Declarer) {
	d.Duration(&o.TrajectoryTimeout, "trajectory-timeout", "end a trajectory after `TIME`").Min(0).DefaultShown("30m0s")
}

func (o *Options) declareExecution(d *plugin.Declarer) {
	d.Heading(plugin.Execution)
	d.Strings(&o.Endpoints, "url", "send model calls to this base `URL`, ending in /v1; several URLs share the load").
		DefaultShown("the policy's").Common()
	d.String(&o.Listen, "listen", "serve the recording proxy at this `ADDRESS`").DefaultShown("127.0.0.1:0")
	d.String(&o.Advertise, "advertise",
		"tell agents on other machines to reach the recording proxy at this `URL`, without path").DefaultShown("its address")
	o.declareConcurrency(d)
	d.Float(&o.RateLimit, "rate-limit", "send at most `N` requests per second to all engines together").Min(0).
		DefaultShown("no limit")
	d.OptionalFloat(&o.Slowdown, "max-slowdown",
		"reduce an engine's concurrent calls when a token takes `N` times as long as at its best; 0 for never").DefaultShown("10")
	d.Include(&o.Budget)
	o.declareTimeout(d)
	d.Duration(&o.CallTimeout, "call-timeout", "end a request to the engine after `TIME`").Min(0).DefaultShown("10m0s")
	d.OptionalInt(&o.Retries, "retries", "retry a failed call `N` times").DefaultShown("5")
	d.Duration(&o.Backoff, "backoff", "wait `TIME` before the first retry, longer before each further one").Min(0).
		DefaultShown("500ms")
	d.Duration(&o.JournalEvery, "journal-every", "save finished trajectories at most every `TIME`").DefaultShown("2s")
	d.Int(&o.MaxInitialFailures, "max-initial-failures", "stop when the first `N` trajectories all fail; -1 for never").
		DefaultShown("twice the concurrency, at least 8")
	d.Int(&o.MaxEngineFailures, "max-engine-failures", "stop when the last `N` calls of a model (fewer at the end) failed at the engine "+
		"and no endpoint answers a test of one token; finished trajectories are kept, and the same command makes the rest; -1 for never").
		DefaultShown("twice the concurrency, at least 8")
	plugin.Choice(d, &o.Resume, "resume", "after a crash, replay recorded `ANSWERS` to the attempts that it interrupted: "+
		"on; strict: fail an attempt whose requests differ; off: start over", ResumeOn, ResumeStrict, ResumeOff).DefaultShown(ResumeOn)
	d.Func(func() any { return o.RetryFailed }, func(text string) (err error) {
		if o.ResumeFailed = text == "resume"; !o.ResumeFailed {
			o.RetryFailed, err = strconv.ParseBool(text)
			return err
		}
		o.RetryFailed = true
		return nil
	}, "retry-failed", "retry trajectories that failed or were skipped in earlier runs of this command; "+
		"with =resume, attempts that the engine or the machine ended get the answers that they had").Type = plugin.Switch
	d.Key(&o.APIKey, "api-key-file", "read the engine's key from this `FILE`", "ROLLMILL_API_KEY", "OPENAI_API_KEY").
		DefaultShown("ROLLMILL_API_KEY, then OPENAI_API_KEY")
	d.Bool(&o.Probe, "probe", "request one token before the first attempt, to check that the engine returns logprobs")
}

// AtEpoch returns the epoch of the run: Epoch, or its default.
func (o Options) AtEpoch() int {
	switch {
	case o.Epoch != nil:
		return *o.Epoch
	case o.Plan != nil:
		return o.Plan.Epoch
	}
	return 0
}

// MakeAgent makes the chosen agent. Its calls go through client, unless it has
// its own. lookup reads the environment of this process.
func (o *Options) MakeAgent(ctx context.Context, client agents.Client, lookup func(string) (string, bool)) error {
	_, settings, err := o.Agents.Get()
	if err == nil {
		o.Agent, err = settings.Agent(ctx,
			agents.Setup{Client: client, Model: o.Model, TargetModel: o.TargetModel, Functions: o.Functions,
				NoLogprobs: o.NoLogprobs, AcceptFinish: o.AcceptFinish,
				TrainAlternatives: o.Alternatives == TrainAlternatives, TrainAuxiliary: o.Auxiliary == tree.AuxiliaryTrain,
				Lookup: lookup, KeepWorkspace: o.KeepWorkspace})
	}
	return err
}

// CloseAgent ends what the agent keeps running.
func (o Options) CloseAgent() error {
	if o.Agent == nil {
		return nil
	}
	return o.Agent.Close()
}

func (o Options) asksEngine() bool { return o.agent.Stored == nil }

// pays reports whether attempts call a model now.
func (o Options) pays() bool { return o.agent.Paid || o.asksEngine() }

func (o Options) atOnce() int {
	if o.agent.Limit > 0 {
		return min(o.Concurrency, o.agent.Limit)
	}
	return o.Concurrency
}
