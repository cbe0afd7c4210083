package eval

import (
	"fmt"
	"io"
	"strings"

	"github.com/rollmill/rollmill/formats/excerpt"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// writeFailures writes each failure once, with the number of attempts that it
// ended and what to look at.
func (r *TryResult) writeFailures(w io.Writer) {
	type failure struct{ what, text, hint string }
	var order []failure
	times := map[failure]int{}
	add := func(f failure) {
		if times[f] == 0 {
			order = append(order, f)
		}
		times[f]++
	}
	for _, a := range r.Attempts {
		if a.FailureClass != "" {
			add(failure{a.FailureClass, a.Error, hints[a.FailureClass]})
			continue // a failed trajectory is not scored
		}
		for _, c := range a.Rewards {
			if c.Failure != "" {
				add(failure{"reward " + c.Name + ": " + c.Failure, c.Error, rewardHint})
			}
		}
	}
	for _, f := range order {
		fmt.Fprintf(w, "\nfailed in %s: %s\n", plural.Of(times[f], "attempt"), text.Line(f.what))
		lines := strings.Split(strings.TrimSpace(f.text), "\n")
		for _, line := range lines[max(0, len(lines)-minLines):] {
			fmt.Fprintf(w, "    %s\n", excerpt.Start(line, 160))
		}
		if f.hint != "" {
			fmt.Fprintf(w, "  hint: %s\n", f.hint)
		}
	}
}

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
