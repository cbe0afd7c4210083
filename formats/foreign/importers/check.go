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
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

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
