package importers

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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

// Roles are the roles that a message may have.
var Roles = []string{"system", "developer", "user", "assistant", "tool"}

func check(t *formats.Trajectory) error {
	if t.Status != "" && !slices.Contains(outcomes.Statuses, t.Status) {
		return fmt.Errorf("status %q is not known", t.Status)
	}
	if t.Reward != nil && (math.IsNaN(*t.Reward) || math.IsInf(*t.Reward, 0)) {
		return errors.New("the reward is not a finite number")
	}
	for _, r := range t.Rewards {
		if r.Value != nil && (math.IsNaN(*r.Value) || math.IsInf(*r.Value, 0)) {
			return fmt.Errorf("the reward %q is not a finite number", r.Name)
		}
	}
	for _, text := range [...]string{t.TrajectoryID, t.ExampleID, t.Example, t.Metadata} {
		if !utf8.ValidString(text) {
			return fmt.Errorf("a text is not UTF-8: %s", Brief([]byte(text)))
		}
	}
	if n := cmp.Or(badNumber(t.Example), badNumber(t.Metadata)); n != "" {
		return fmt.Errorf("the number %s is out of range", Brief([]byte(n)))
	}
	for _, tools := range t.ToolSets {
		if n := badNumber(tools); n != "" {
			return fmt.Errorf("the number %s of the tools is out of range", Brief([]byte(n)))
		}
	}
	for i := range t.Calls {
		if n := badNumber(t.Calls[i].Sampling); n != "" {
			return fmt.Errorf("call %d: the number %s of its sampling is out of range", i, Brief([]byte(n)))
		}
	}
	for i := range t.Messages {
		if err := checkMessage(t, i); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	return nil
}

// badNumber returns a number that no float64 holds, or one that JSON does not
// have (see jsontext.NotANumber), which readers of the JSON would refuse; "" when
// there is none.
func badNumber(text string) string {
	const short = 300 // digits without an exponent are in range
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '"' {
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			continue
		}
		if c == 'N' || c == 'I' {
			return text[i : i+max(1, jsontext.NotANumber([]byte(text[i:min(len(text), i+9)])))]
		}
		if c < '0' || c > '9' {
			continue
		}
		from, exponent := i, false
		for ; i < len(text) && strings.IndexByte("0123456789.eE+-", text[i]) >= 0; i++ {
			exponent = exponent || text[i]|0x20 == 'e'
		}
		if exponent || i-from > short {
			if _, err := strconv.ParseFloat(text[from:i], 64); errors.Is(err, strconv.ErrRange) {
				return text[from:i]
			}
		}
		i--
	}
	return ""
}

func checkMessage(t *formats.Trajectory, i int) error {
	m := &t.Messages[i]
	switch {
	case !slices.Contains(Roles, m.Role):
		return fmt.Errorf("unknown role %q; use one of %v", m.Role, Roles)
	case m.Parent < -1 || int(m.Parent) >= i:
		return fmt.Errorf("parent %d does not come before it", m.Parent)
	case (strings.Contains(m.ContentParts, "NaN") || strings.Contains(m.ContentParts, "Infinity")) &&
		badNumber(m.ContentParts) != "":
		return errors.New("its content has a number that JSON does not have")
	case m.Sampled != (m.Call >= 0) || int(m.Call) >= len(t.Calls):
		return fmt.Errorf("call %d of %d", m.Call, len(t.Calls))
	case len(m.TokenIDs) > 0 && len(m.Logprobs) > 0 && len(m.TokenIDs) != len(m.Logprobs):
		return fmt.Errorf("%d logprobs for %d token ids", len(m.Logprobs), len(m.TokenIDs))
	case len(m.TokenTexts) > 0 && len(m.TokenTexts) != len(m.Logprobs):
		return fmt.Errorf("%d logprobs for %d token texts", len(m.Logprobs), len(m.TokenTexts))
	}
	for _, p := range m.Logprobs {
		if math.IsNaN(float64(p)) || p > 0 || math.IsInf(float64(p), 0) {
			return fmt.Errorf("the logprob %v is not a finite number of at most 0", p)
		}
	}
	for _, id := range m.TokenIDs {
		if id < 0 {
			return fmt.Errorf("the token id %d is negative", id)
		}
	}
	return nil
}
