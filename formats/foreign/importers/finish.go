package importers

import (
	"cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// Quote returns a text as a JSON string.
func Quote(text string) []byte { return jsontext.AppendString(nil, text) }

// Finish checks an item and sets the columns that follow from others: answer,
// status, stop_reason, model, policy_version and the numbers of tokens. An error
// says which rule of the columns the item breaks; it is the fault of the source,
// such as logprobs that do not match the tokens.
func Finish(x *Item) error {
	t := &x.Row
	if err := check(t); err != nil {
		return err
	}
	setTotals(t)
	if t.Answer == "" {
		t.Answer = chat.Answer(t)
	}
	if t.Status == "" {
		t.Status = outcomes.StatusOK
		if last := lastTrained(t); last >= 0 &&
			outcomes.Finish(t.Messages[last].FinishReason, nil) == outcomes.FinishTruncated {
			t.Status = outcomes.StatusTruncated
		}
	}
	t.StopReason = cmp.Or(t.StopReason, stopReason(t.Status))
	t.Example = cmp.Or(t.Example, "{}")
	return nil
}

// Fail makes a row a failed one, which has no reward.
func Fail(row *formats.Trajectory, class, text string) {
	row.Status, row.FailureClass, row.Error, row.Reward = outcomes.StatusFailed, class, text, nil
}

func stopReason(status string) string {
	switch status {
	case outcomes.StatusTruncated:
		return outcomes.StopLength
	case outcomes.StatusFailed:
		return outcomes.StopError
	case outcomes.StatusSkipped:
		return outcomes.StopSkipped
	}
	return outcomes.StopDone
}

// setTotals sets what the calls add up to.
func setTotals(t *formats.Trajectory) {
	t.SetTotals()
	first := true
	for i := range t.Calls {
		c := &t.Calls[i]
		if !c.Target {
			continue
		}
		t.Model = cmp.Or(t.Model, c.Model)
		switch v := c.PolicyVersion; {
		case first:
			t.PolicyVersion = cmp.Or(t.PolicyVersion, v)
		case t.PolicyVersion != nil && (v == nil || *v != *t.PolicyVersion):
			t.PolicyVersion = nil // the calls' versions differ
		}
		first = false
	}
}

func lastTrained(t *formats.Trajectory) int {
	for i := len(t.Messages) - 1; i >= 0; i-- {
		if t.Trained(i) {
			return i
		}
	}
	return -1
}
