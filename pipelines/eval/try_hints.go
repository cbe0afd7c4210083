package eval

import "github.com/rollmill/rollmill/formats/outcomes"

// rewardHint is for a reward that could not be computed.
const rewardHint = "give the reward's program one trajectory by hand: `rollmill help reward command` shows its lines"

// hints say what to look at after a failure of each class. A class without a hint
// explains itself.
var hints = map[string]string{
	outcomes.FailAgentExit: "--set rollout.agent-logs=FOLDER keeps all of the agent's standard error; of a run, `rollmill " +
		"explain` prints the traceback",
	outcomes.FailAgentOutput: "an agent prints one whole JSON object last, or none; logs belong on standard error: see " +
		"`rollmill help agent command`",
	outcomes.FailTimeout:       "raise rollout.trajectory-timeout, or give the agent fewer turns",
	outcomes.FailEngine:        "is the engine running, and is its URL right? `rollmill check` asks it for one token",
	outcomes.FailEngineRefused: "check the model's name, the length of the prompt and rollout.sampling",
	outcomes.FailNoCalls:       "the agent must send its calls to OPENAI_BASE_URL, not to an address of its own",
	outcomes.FailNoLogprobs:    "the engine gives no logprobs; rollout.no-logprobs keeps the rows, for training without them",
	outcomes.FailModelMismatch: "rollout.accept-model takes another name of the same model",
	outcomes.FailUnfinished:    "rollout.accept-finish takes further finish reasons as an answer's end",
	outcomes.FailExample:       "check this row of the task file",
}
