package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents/all"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
)

var rolloutCommand = command{
	name:    "rollout",
	heading: theLine,
	usage:   "run an agent on each example and record every model call",
	about: `The agent asks any OpenAI-compatible engine, through a proxy that keeps the
sampled tokens and their logprobs. Finished trajectories are journalled: after a
crash the same command finishes the rest and pays for nothing twice. The text of
many examples stands in a temporary file (of the folder TMPDIR) meanwhile.

  rollmill rollout --examples tasks.jsonl --agent chat --user '{{.question}}' --url http://127.0.0.1:8000/v1 --model my-model
  rollmill rollout --examples tasks.jsonl --agent command --command './agent --fast' --generations 8 --policy runs/demo/epoch-0/submit

With --plan it attempts what curate found worth more generations, numbered
after those that are there; --extend writes them among the rollouts that the
plan was made of, so that score --from ... --only missing, group and curate go
on with whole groups and nothing is made twice:

  rollmill rollout --config rollmill.yaml --plan runs/demo/epoch-0/curate --extend runs/demo/epoch-0/rollout

Agents:

` + agentKinds(),
	flags: rolloutFlags,
	run:   runRollout,
}

func agentKinds() string {
	text := ""
	for _, k := range all.Kinds {
		text += "  " + k.Usage + "\n"
	}
	return text
}

func rolloutFlags() []cli.Flag {
	flags := exampleFlags()
	flags = append(flags, inCategory(aboutInput,
		&cli.StringFlag{Name: "plan", Usage: "attempt only the examples of the plan in the curated dataset at this `URI`, as often as it says"},
		&cli.StringFlag{Name: "extend", Usage: "with --plan, copy the rollouts at this `URI`, that the plan was made of, and add to them"},
		&cli.StringSliceFlag{Name: "accept-gate", Usage: "read either although the gate `NAME` refused it"},
	)...)
	flags = append(flags, inCategory(aboutRows,
		&cli.IntFlag{Name: "epoch", Usage: "epoch `N`, from 0; default with --plan: the plan's"},
		&cli.IntFlag{Name: "generations", Value: 1, Usage: "attempt each example `N` times, without --plan"},
		&cli.StringFlag{Name: "agent", Value: "chat", Usage: "the agent, as `KIND[:WORDS]`"},
		&cli.StringFlag{Name: "command", Usage: "the program that is the agent, if --agent has no words: `WORDS` split as a shell would"},
		&cli.StringFlag{Name: "agent-dir", Usage: "run the program in this `FOLDER`"},
		&cli.StringSliceFlag{Name: "agent-env", Usage: "give the program this `KEY=VALUE`; KEY alone passes it from the environment, which for names of secrets (KEY, TOKEN, PASSWORD, ...) happens only so"},
		&cli.StringFlag{Name: "system", Usage: "`TEMPLATE` of the system message, over the example's fields"},
		&cli.StringFlag{Name: "user", Usage: "`TEMPLATE` of the user message, over the example's fields"},
		&cli.StringFlag{Name: "request", Usage: "`TEMPLATE` of what agent nat sends, JSON over the example's fields", DefaultText: `{"input_message": {{json .question}}}`},
		&cli.StringFlag{Name: "result-path", Usage: "the answer stands at this JSON `PATH` of the workflow's; agent nat", DefaultText: "$"},
		&cli.StringSliceFlag{Name: "tool", Usage: "the model may call this program, `NAME=WORDS` split as a shell would"},
		&cli.StringFlag{Name: "tools", Usage: "`FILE` of the tools' definitions, the JSON array of a request's \"tools\""},
		&cli.IntFlag{Name: "turns", Value: 16, Usage: "end a conversation with tools after `N` answers of the model"},
		&cli.StringFlag{Name: "stop-match", Usage: "an answer that matches this `REGEXP` is the last"},
		&cli.StringSliceFlag{Name: "stop-tool", Usage: "a call of the tool `NAME` is the last answer; it needs no program"},
		&cli.StringFlag{Name: "policy", Usage: "take endpoint, model and version from the receipt at this `URI` (submit's --out)"},
		&cli.StringFlag{Name: "model", Usage: "ask for this `MODEL`; default: the policy's"},
		&cli.StringFlag{Name: "target-model", Usage: "train on the calls to this `MODEL`; the others are recorded", DefaultText: "--model"},
		&cli.StringSliceFlag{Name: "target-function", Usage: "train only on calls that this function of the agent made: those at .../f/`NAME`/v1, or with the header X-Rollmill-Function"},
		&cli.StringSliceFlag{Name: "accept-model", Usage: "an answer may also name this `MODEL`; * for any"},
		&cli.StringSliceFlag{Name: "sampling", Usage: "`KEY=VALUE` for calls that do not set it: temperature, top_p, max_tokens, ..."},
		&cli.Int64Flag{Name: "sampling-seed", Usage: "send the engine a seed derived from `SEED`, the trajectory and the call"},
		&cli.StringSliceFlag{Name: "extra", Usage: "`KEY=VALUE` of requests that makes the engine return token ids; default: what vLLM and SGLang understand"},
		&cli.IntFlag{Name: "max-calls", Usage: "truncate a trajectory that asks for more than `N` calls of a model", DefaultText: "no limit"},
		&cli.Int64Flag{Name: "max-tokens-per-trajectory", Usage: "truncate a trajectory that asks for another call after `N` tokens of prompts and answers", DefaultText: "no limit"},
		&cli.BoolFlag{Name: "no-logprobs", Usage: "keep trajectories although the engine gives no logprobs"},
		&cli.StringSliceFlag{Name: "accept-finish", Usage: "an answer with this finish `REASON` also counts as ended (such as content_filter; null for none); without it only stop, tool_calls and their like do, and a trajectory whose last answer has another fails"},
		&cli.BoolFlag{Name: "tolerate-engine-errors", Usage: "keep a trajectory that ended well although a call failed at the engine and no later one was answered"},
		&cli.StringFlag{Name: "alternatives", Value: "keep", Usage: "answers that the agent did not choose (of n > 1, or to a prompt that it asked again): `keep` them as candidates, or train on them as well (train)"},
		&cli.StringSliceFlag{Name: "uses", Usage: "the rows depend on the content of this `FILE`, too"},
		validationFlag(),
	)...)
	flags = append(flags, inCategory(aboutRunning,
		&cli.StringSliceFlag{Name: "url", Usage: "base `URL` of the engine, ending in /v1; several share the load; default: the policy's"},
		&cli.StringFlag{Name: "api-key-file", Usage: "read the engine's key from this `FILE`; default: ROLLMILL_API_KEY, then OPENAI_API_KEY"},
		&cli.StringFlag{Name: "listen", Value: "127.0.0.1:0", Usage: "`ADDRESS` of the recording proxy"},
		&cli.StringFlag{Name: "advertise", Usage: "`URL` by which agents elsewhere reach the recording proxy, without path", DefaultText: "its address"},
		&cli.IntFlag{Name: "agent-workers", Usage: "start the program `N` times and give it trajectories as JSON lines; 0 starts it for each"},
		&cli.StringFlag{Name: "agent-logs", Usage: "keep the standard error of each trajectory's programs in this local `FOLDER`"},
		&cli.IntFlag{Name: "concurrency", Value: 16, Usage: "run `N` trajectories at once"},
		&cli.Float64Flag{Name: "rate-limit", Usage: "send the engines at most `N` requests a second", DefaultText: "no limit"},
		&cli.Float64Flag{Name: "max-slowdown", Value: 10, Usage: "ask an engine less at once when a token takes `N` times as long as at its best; 0 for never"},
		&cli.Int64Flag{Name: "budget-tokens", Usage: "begin nothing more after `N` tokens of prompts and answers, in each shard", DefaultText: "no limit"},
		&cli.Float64Flag{Name: "budget-money", Usage: "begin nothing more when the calls have cost `AMOUNT`, in each shard", DefaultText: "no limit"},
		&cli.DurationFlag{Name: "budget-time", Usage: "stop each shard after `TIME`", DefaultText: "no limit"},
		&cli.Float64Flag{Name: "price-prompt", Usage: "`PRICE` of a million prompt tokens"},
		&cli.Float64Flag{Name: "price-completion", Usage: "`PRICE` of a million tokens of answers"},
		&cli.BoolFlag{Name: "skip-rest", Usage: "when a budget is spent, write the rest as skipped rows"},
		&cli.DurationFlag{Name: "trajectory-timeout", Value: 30 * time.Minute, Usage: "give up a trajectory after `TIME`"},
		&cli.DurationFlag{Name: "call-timeout", Value: 10 * time.Minute, Usage: "give up a request to the engine after `TIME`"},
		&cli.IntFlag{Name: "retries", Value: 5, Usage: "try a call `N` more times"},
		&cli.DurationFlag{Name: "backoff", Value: 500 * time.Millisecond, Usage: "wait `TIME` before the first retry, longer before the next"},
		&cli.DurationFlag{Name: "journal-every", Value: 2 * time.Second, Usage: "make finished trajectories durable at most every `TIME`"},
		&cli.IntFlag{Name: "max-initial-failures", Usage: "stop when the first `N` trajectories all fail, for whatever reason; -1 for never", DefaultText: "twice the concurrency, at least 8"},
		&cli.BoolFlag{Name: "retry-failed", Usage: "attempt again what failed or was skipped in earlier runs of this command"},
		&cli.BoolFlag{Name: "probe", Usage: "first ask the engine for one token, to see that it gives logprobs"},
	)...)
	flags = append(flags, inCategory(aboutGates,
		&cli.Float64Flag{Name: "max-failure-rate", Value: 0.5, Usage: "refuse a larger `SHARE` of failed trajectories"})...)
	flags = append(flags, inCategory(aboutOutput, runFlags()...)...)
	return append(flags, outFlags("<root>/epoch-<epoch>/rollout; with --extend extended/rollout beside it")...)
}

// rolloutOptions reads everything but the examples' bytes, the output and the
// process.
func rolloutOptions(ctx context.Context, s *session, c *cli.Context) (rollout.Options, error) {
	o := rollout.Options{
		Epoch:             c.Int("epoch"),
		Generations:       c.Int("generations"),
		Model:             c.String("model"),
		TargetModel:       c.String("target-model"),
		Functions:         c.StringSlice("target-function"),
		AcceptModels:      c.StringSlice("accept-model"),
		SamplingSeed:      integer64(c, "sampling-seed"),
		NoLogprobs:        c.Bool("no-logprobs"),
		AcceptFinish:      c.StringSlice("accept-finish"),
		Uses:              c.StringSlice("uses"),
		Endpoints:         c.StringSlice("url"),
		Listen:            c.String("listen"),
		Advertise:         c.String("advertise"),
		Concurrency:       c.Int("concurrency"),
		TrajectoryTimeout: c.Duration("trajectory-timeout"),
		CallTimeout:       c.Duration("call-timeout"),
		Retries:           orNone(c.Int("retries")),
		Backoff:           c.Duration("backoff"),
		RateLimit:         c.Float64("rate-limit"),
		Slowdown:          c.Float64("max-slowdown"),
		MaxFailureRate:    float(c, "max-failure-rate"),
		RetryFailed:       c.Bool("retry-failed"),
		JournalEvery:      c.Duration("journal-every"),

		MaxInitialFailures: c.Int("max-initial-failures"),
		MaxCalls:           c.Int("max-calls"),
		MaxTokens:          c.Int64("max-tokens-per-trajectory"),
	}
	var err error
	if o.Generations < 1 {
		return o, usage("1 attempt at each example is the least", "--generations %d is not positive", o.Generations)
	}
	if o.TrainAlternatives, err = trainAlternatives(c); err != nil {
		return o, err
	}
	o.TolerateEngineErrors = c.Bool("tolerate-engine-errors")
	if o.Slowdown == 0 {
		o.Slowdown = -1
	}
	o.Budget = rollout.Budget{Tokens: c.Int64("budget-tokens"), Money: c.Float64("budget-money"), Time: c.Duration("budget-time"),
		PromptPrice: c.Float64("price-prompt"), CompletionPrice: c.Float64("price-completion"), SkipRest: c.Bool("skip-rest")}
	o.Run, _ = runAndRoot(c)
	o.Root = c.String("root")
	if o.Sampling, err = object(c, "sampling"); err != nil {
		return o, err
	}
	if o.Extra, err = object(c, "extra"); err != nil {
		return o, err
	}
	if o.APIKey, err = s.apiKey(c.String("api-key-file"), "ROLLMILL_API_KEY", "OPENAI_API_KEY"); err != nil {
		return o, err
	}
	if o.Agent, err = s.agent(c); err != nil {
		return o, err
	}
	if o.Policy, err = policy(ctx, c.String("policy")); err != nil {
		return o, err
	}
	if c.Bool("probe") && !o.NoLogprobs {
		o.Probe = openai.Probe
	}
	if err := rolloutPlan(ctx, c, &o); err != nil {
		return o, err
	}
	set, ref, err := readExamples(ctx, s, c)
	o.Examples, o.ExamplesRef = set, ref
	return o, err
}

func trainAlternatives(c *cli.Context) (bool, error) {
	switch v := c.String("alternatives"); v {
	case "train":
		return true, nil
	case "keep", "":
		return false, nil
	default:
		return false, usage("keep or train", "--alternatives %q is neither", v)
	}
}

// rolloutPlan reads the plan, which says the epoch when nobody else does.
func rolloutPlan(ctx context.Context, c *cli.Context, o *rollout.Options) (err error) {
	o.Extend = stages.Input{URI: c.String("extend"), AcceptGates: c.StringSlice("accept-gate")}
	if c.String("plan") == "" {
		return nil
	}
	if o.Plan, err = rollout.OpenPlan(ctx, stages.Input{URI: c.String("plan"), AcceptGates: c.StringSlice("accept-gate")}); err == nil && !c.IsSet("epoch") {
		o.Epoch = o.Plan.Epoch()
	}
	return err
}

// agent makes the agent that --agent KIND[: WORDS] names; --command gives the
// words as well.
func (s *session) agent(c *cli.Context) (rollout.Agent, error) {
	spec := c.String("agent")
	if words := c.String("command"); words != "" {
		if strings.Contains(spec, ":") {
			return nil, usage("say it once", "--agent %q and --command %q both name a program", spec, words)
		}
		spec += ": " + words
	}
	env, err := s.agentEnv(c.StringSlice("agent-env"))
	if err != nil {
		return nil, err
	}
	config := rollout.AgentConfig{Dir: c.String("agent-dir"), Env: env,
		Workers: c.Int("agent-workers"), Logs: c.String("agent-logs"),
		System: c.String("system"), User: c.String("user"), Client: openai.Client{},
		Request: c.String("request"), ResultPath: c.String("result-path"), Model: c.String("model"), TargetModel: c.String("target-model"),
		Functions: c.StringSlice("target-function"), NoLogprobs: c.Bool("no-logprobs"),
		Turns: c.Int("turns"), StopMatch: c.String("stop-match"), StopTools: c.StringSlice("stop-tool")}
	if config.TrainAlternatives, err = trainAlternatives(c); err != nil {
		return nil, err
	}
	config.AcceptFinish = c.StringSlice("accept-finish")
	if config.Tools, err = tools(c.StringSlice("tool"), c.String("tools"), config.StopTools); err != nil {
		return nil, err
	}
	return all.New(spec, config, shellquote.Split)
}

// policy reads the receipt of a submission; nil without one.
func policy(ctx context.Context, uri string) (*formats.Policy, error) {
	if uri == "" {
		return nil, nil
	}
	bucket, err := storage.Open(ctx, uri)
	if err != nil {
		return nil, usage("", "--policy: %w", err)
	}
	receipt, err := submit.ReadReceipt(ctx, bucket)
	if err != nil {
		return nil, fmt.Errorf("--policy %q: %w", storage.Redact(uri), err)
	}
	if receipt.Policy == nil {
		return nil, formats.Invalid(storage.Redact(uri), "name the engine with --url and --model", nil, "the receipt (state %s) names no policy", receipt.State)
	}
	return receipt.Policy, nil
}

func runRollout(ctx context.Context, s *session) error {
	o, err := rolloutOptions(ctx, s, s.flags)
	if err != nil {
		return err
	}
	out := storage.Join(s.epochDir(o.Epoch), "rollout")
	if o.Extend.URI != "" {
		dir, _ := storage.Split(o.Extend.URI)
		out = storage.Join(dir, "extended", "rollout") // where the stages after it find places of their own
	}
	if o.Out, err = s.outputAt(out); err != nil {
		return err
	}
	o.Env = s.stageEnv()
	r, err := rollout.Run(ctx, o)
	return s.finish(r, r, err)
}

// epochDir is where the datasets of an epoch lie, or of its validation.
func (s *session) epochDir(epoch int) string {
	_, root := runAndRoot(s.flags)
	dir := storage.Join(root, fmt.Sprintf("epoch-%d", epoch))
	if s.flags.Bool("validation") {
		dir = storage.Join(dir, "validation")
	}
	return dir
}
