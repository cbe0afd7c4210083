package eval

import (
	"strings"

	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/traceback"
	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/show"
	"github.com/rollmill/rollmill/pipelines/look/text"
	"github.com/rollmill/rollmill/storage/fault"
)

// TryResult is what came of the attempts.
type TryResult struct {
	Per      int       `json:"per_example"`
	Scored   int       `json:"scored"` // attempts with a reward
	Attempts []Attempt `json:"attempts"`
	Groups   []Group   `json:"groups"`
	Cost     Cost      `json:"cost"`            // of all attempts
	Epoch    Cost      `json:"epoch"`           // of a whole epoch, extrapolated
	Gates    []string  `json:"gates,omitempty"` // what would have refused an epoch like this

	Best  show.Values `json:"best,omitempty"` // all columns of the attempt with the highest reward
	Worst show.Values `json:"worst,omitempty"`

	best, worst *model.Conversation // nil for none
	calls       map[string]float64  // of all attempts, by model
}

// Attempt is one trajectory.
type Attempt struct {
	TrajectoryID     string            `json:"trajectory_id"`
	ExampleID        string            `json:"example_id"`
	Generation       int32             `json:"generation"`
	Status           string            `json:"status"`
	StopReason       string            `json:"stop_reason"`
	FailureClass     string            `json:"failure_class,omitempty"`
	Error            string            `json:"error,omitempty"`
	Reward           *float64          `json:"reward"`
	Rewards          []model.Component `json:"rewards"`
	Advantage        *float64          `json:"advantage"`
	Turns            int               `json:"turns"` // calls to the model
	PromptTokens     int32             `json:"prompt_tokens"`
	CompletionTokens int32             `json:"completion_tokens"`
	Seconds          float64           `json:"seconds"`
	Cost             *float64          `json:"cost"` // of the calls; null if not all is known
	Answer           string            `json:"answer,omitempty"`
	Message          int               `json:"message"`           // on the main path, from 0: the first that not all attempts at the example share
	Differs          string            `json:"differs,omitempty"` // the beginning of that message; "" where the attempt had ended

	group string
}

// Group is one example's attempts.
type Group struct {
	GroupID string   `json:"group_id"`
	Count   int32    `json:"count"`
	Valid   int32    `json:"valid"`
	Mean    *float64 `json:"mean"`
	Std     *float64 `json:"std"`
	Flat    bool     `json:"flat"` // it gives no training signal: its advantages are 0, or without any its rewards are equal

	facts []model.Fact
}

// Cost is what trajectories took.
type Cost struct {
	Trajectories     int64 `json:"trajectories"`
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	// of the trajectories one after another; of an epoch, as many at once as rollout makes
	Seconds     float64  `json:"seconds"`
	Money       *float64 `json:"money"`        // of the calls, as far as it is known; null if nothing is
	JudgeTokens int64    `json:"judge_tokens"` // of rewards that ask a model
	JudgeMoney  float64  `json:"judge_money"`
	Unknown     []string `json:"unknown,omitempty"` // calls whose cost is not known, and why
}

// Err returns an error if no attempt has a reward: nothing could be trained.
func (r *TryResult) Err() error {
	if r.Scored > 0 {
		return nil
	}
	because, hint := "", rewardHint
	for _, a := range r.Attempts {
		for _, c := range a.Rewards {
			if c.Failure != "" && because == "" {
				because = ": reward " + c.Name + ": " + c.Failure + ": " + lastLine(c.Error)
			}
		}
		if a.FailureClass != "" {
			because, hint = ": "+a.FailureClass+": "+lastLine(a.Error), hints[a.FailureClass]
			break
		}
	}
	return fault.Errorf(fault.Failed, hint, "try: none of %s has a reward%s",
		plural.Of(len(r.Attempts), "attempt"), because)
}

// lastLine returns the line that names the cause, and where the user's code is.
func lastLine(said string) string {
	said = strings.TrimSpace(said)
	line := text.Line(said[strings.LastIndex(said, "\n")+1:])
	if place := traceback.Place(said); place != "" {
		line += " (" + place + ")"
	}
	return line
}
