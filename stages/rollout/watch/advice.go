package watch

import (
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/storage/fault"
)

// hopeless are the failure classes that the engine causes, whatever the
// example.
var hopeless = []string{outcomes.FailEngine, outcomes.FailNoLogprobs, outcomes.FailLogprobMismatch, outcomes.FailBadLogprobs,
	outcomes.FailUnfinished, outcomes.FailModelMismatch, outcomes.FailEngineRefused}

var advice = map[string]string{
	outcomes.FailEngine: "is the engine up? look at its log, or try `rollmill check`; nothing was kept, so run the " +
		"same command again",
	outcomes.FailEngineRefused: "the engine refuses these requests; check --model, the key, the sampling fields and the " +
		"prompt's length",
	outcomes.FailAbandoned: "the agent gives up before the engine answers: raise the time-out of its client, or lower --concurrency; if it leaves " +
		"streams on purpose, --accept-left-streams keeps such trajectories",
	outcomes.FailNoLogprobs: "start the engine so that it returns logprobs (vLLM and SGLang do by default; " +
		"llama-server needs a build that supports them), or accept none with --no-logprobs",
	outcomes.FailLogprobMismatch: "the engine merges or drops logprobs, as llama-server does with incomplete UTF-8; train " +
		"with another engine, or keep none with --no-logprobs",
	outcomes.FailBadLogprobs: "the engine's logprobs are not numbers at most 0; its sampling is broken or modified",
	outcomes.FailUnfinished: "the engine breaks its answers off; look at its log, or accept the finish reason with " +
		"--accept-finish",
	outcomes.FailModelMismatch: "another model answers, so its tokens are not the policy's; check --model and which " +
		"adapters are loaded, or accept the name with --accept-model",
	outcomes.FailAgentExit: "the agent fails before it does anything: mend it (`rollmill check` starts it once) and run " +
		"the same command again, since nothing was kept; --max-initial-failures -1 goes on all the same",
	outcomes.FailAgentOutput: "the agent does not answer as its protocol says (`rollmill rollout --help`); nothing was " +
		"kept, so mend it and run the same command again",
	outcomes.FailTimeout: "raise --trajectory-timeout, or see with --agent-logs what the agent waits for; nothing was kept",
	outcomes.FailNoCalls: "the agent has to ask the model where OPENAI_BASE_URL says, and --target-model and " +
		"--target-function have to name calls that it makes; nothing was kept",
	outcomes.FailExample:  "do the examples have the fields that --system, --user or --request name? nothing was kept",
	outcomes.FailTooLarge: "the agent sends more than a row of a dataset holds, such as many screenshots; nothing was kept",
}

// unfit returns the error of a run whose first trajectories all failed. The
// most frequent class decides its kind and hint.
func unfit(rows []formats.Trajectory) error {
	counts := map[string]int{}
	for i := range rows {
		counts[rows[i].FailureClass]++
	}
	class := plural.Largest(counts)[0]
	last := slices.IndexFunc(rows, func(t formats.Trajectory) bool { return t.FailureClass == class })
	kind := fault.Failed
	if class == outcomes.FailEngine {
		kind = fault.Temporary
	}
	return fault.Errorf(kind, advice[class], "rollout: all of the first %d trajectories failed (%s): %s", len(rows),
		plural.Counts(counts, func(class string, n int) string { return fmt.Sprint(n, " ", class) }), rows[last].Error)
}
