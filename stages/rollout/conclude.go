package rollout

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
)

// lostKey names, in a row's metadata, the fields of the agent's output whose values are lost.
const lostKey = "rollmill_lost"

// conclude gives the row its one state. What makes it unfit for training has
// precedence, then the time limit, then what the agent reports, then the
// engine's errors: if its last call failed, or got only part of an answer, the
// trajectory may not be scored, even when the agent ended normally. The same
// holds for a call whose answer the agent did not wait for.
func (o *Options) conclude(t *formats.Trajectory, result agents.Result, err error, rec recorder.Record, timedOut bool) {
	answered := slices.ContainsFunc(t.Main(), func(i int) bool { return t.Messages[i].Sampled })
	switch {
	case rec.Untrainable != nil:
		Fail(t, outcomes.StopError, rec.Untrainable.Class, rec.Untrainable.Text)
	case timedOut && (err != nil || rec.Abandoned != nil):
		Fail(t, outcomes.StopTimeout, outcomes.FailTimeout, errTimeout.Error())
	case err != nil && rec.Limit == "": // at its limit the trajectory ends, and with it the agent
		class, text := classify(err, rec.LastCall)
		Fail(t, outcomes.StopError, class, text)
	case !answered && engineFailed(rec.LastCall):
		Fail(t, outcomes.StopError, rec.LastCall.Class, rec.LastCall.Text)
	case rec.Abandoned != nil:
		Fail(t, outcomes.StopError, rec.Abandoned.Class, rec.Abandoned.Text)
	case !answered:
		Fail(t, outcomes.StopError, outcomes.FailNoCalls, "the agent ended without an answer from the model")
	case !slices.ContainsFunc(t.Calls, func(c formats.Call) bool { return c.Target }):
		Fail(t, outcomes.StopError, outcomes.FailNoCalls,
			fmt.Sprintf("none of the agent's %d calls was to the target model and function; the first asked for %q",
				len(t.Calls), t.Calls[0].Model))
	case rec.LostCall != nil && rec.LostCall.TooLong:
		t.Status, t.StopReason = outcomes.StatusTruncated, outcomes.StopLength
	case rec.LostCall != nil && !o.TolerateEngineErrors:
		Fail(t, outcomes.StopError, rec.LostCall.Class,
			rec.LostCall.Text+"; the agent ended without an answer to this call (--tolerate-engine-errors keeps such "+
				"trajectories)")
	default:
		if rec.Limit == "" && result.Stop == outcomes.StopTurns {
			rec.Limit = result.Stop
		}
		Finish(t, o.AcceptFinish, rec.Limit)
	}
	if result.Answer != nil {
		t.Answer = strings.ToValidUTF8(*result.Answer, "\uFFFD")
	}
	if t.Status != outcomes.StatusFailed {
		t.Reward, t.Rewards = result.Reward, components(result)
	}
	t.Artifacts = result.Artifacts
	note := func(key string, value any) {
		fields := jsontext.ParseObject(result.Metadata)
		raw, _ := json.Marshal(value) // texts and truth values are JSON
		fields.Set(key, raw)
		result.Metadata = fields.Bytes()
	}
	if len(result.Lost) > 0 {
		note(lostKey, result.Lost)
	}
	if rec.ToolErrors.Add(result.ToolErrors); rec.ToolErrors != nil {
		note(formats.ToolErrorsField, rec.ToolErrors)
	}
	if result.Metadata != nil {
		var b bytes.Buffer
		if json.Compact(&b, result.Metadata) == nil {
			t.Metadata = strings.ToValidUTF8(b.String(), "\uFFFD")
		}
	}
}

// components returns the reward as the component of the agent, and the further ones by
// name.
func components(r agents.Result) []formats.NamedReward {
	var out []formats.NamedReward
	if r.Reward != nil {
		out = []formats.NamedReward{{Name: formats.AgentReward, Value: r.Reward, Weight: 1}}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Rewards)) {
		if name != formats.AgentReward {
			out = append(out, formats.NamedReward{Name: name, Value: new(r.Rewards[name])})
		}
	}
	return out
}

// Finish decides the state of a row by how its last trained answer ended; accept is --accept-finish. limit is
// the stop reason of a trajectory that exceeded a limit, or "".
func Finish(t *formats.Trajectory, accept []string, limit string) {
	reason := ""
	for i := range t.Messages {
		if t.Trained(i) {
			reason = t.Messages[i].FinishReason
		}
	}
	switch state := outcomes.Finish(reason, accept); {
	case state == outcomes.FinishFailed:
		Fail(t, outcomes.StopError, outcomes.FailUnfinished, unfinished(reason))
	case limit != "":
		t.Status, t.StopReason = outcomes.StatusTruncated, limit
	case state == outcomes.FinishTruncated:
		t.Status, t.StopReason = outcomes.StatusTruncated, outcomes.StopLength
	default:
		t.Status, t.StopReason = outcomes.StatusOK, outcomes.StopDone
	}
}

// unfinished returns the error of a trajectory whose last answer has a finish
// reason that stands neither for a complete nor for a truncated answer.
func unfinished(reason string) string {
	reason = cmp.Or(reason, outcomes.NoFinishReason)
	return fmt.Sprintf("the last answer's finish reason is %q, so the model did not end it (--accept-finish %s keeps "+
		"such answers)", reason, reason)
}

// classify blames the engine when the agent failed because of a failed call.
func classify(err error, last *completion.Failure) (class, text string) {
	class, text = outcomes.FailInternal, err.Error()
	var f *agents.Failure
	if errors.As(err, &f) {
		class = f.Class
	}
	switch {
	case !engineFailed(last) || class == outcomes.FailExample || class == outcomes.FailInternal:
		return class, text
	case class == outcomes.FailEngine: // the agent reports only that its call failed
		return last.Class, last.Text
	}
	return last.Class, last.Text + "; then " + text
}

func engineFailed(f *completion.Failure) bool {
	return f != nil && (f.Class == outcomes.FailEngine || f.Class == outcomes.FailEngineRefused)
}

// Fail makes a row a failed one. class is one of outcomes.FailureClasses.
func Fail(t *formats.Trajectory, stop, class, text string) {
	t.Status, t.StopReason, t.FailureClass = outcomes.StatusFailed, stop, class
	t.Reward, t.Rewards = nil, nil
	t.Error = strings.ToValidUTF8(text, "\uFFFD")
}
