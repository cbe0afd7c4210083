package rewards

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
)

// Match compares an answer with a reference: a field of the example or
// a literal text. The reward is 1 if they match, else 0.
//
//	match:exact                                the field "answer" of the example
//	match:contains,field=target,case=ignore    another field, case ignored
//	match:regexp,text=^\d+$                    a literal pattern
//	match:number,tolerance=1%                  the number that the answer gives
//
// A field that holds a list is a list of alternatives, one of which must match. A reference that
// is missing, or is empty where that matches everything, is a failure of the row and not a 0.
var Match = score.RewardKind{Kind: plugin.Kind[score.RewardSettings]{
	Name: "match",
	Help: "compare the answer with a reference: the whole, a part, a pattern or a number",
	New: func() score.RewardSettings {
		return &MatchSettings{Field: "answer", Case: keep, Space: trim, Tolerance: tolerance{n: 1e-6, initial: true}}
	},
}}

type matchReward struct {
	*MatchSettings
	matches func(answer, reference string) (bool, error)
}

func (s *MatchSettings) Reward(score.Setup) (score.Reward, error) {
	r := &matchReward{MatchSettings: s}
	var err error
	switch s.Mode {
	case matchExact:
		r.matches = func(answer, reference string) (bool, error) { return r.fold(answer) == r.fold(reference), nil }
	case contains:
		r.matches = r.contains
	case number:
		r.matches = r.sameNumber
		if s.Text != nil {
			_, err = r.sameNumber("", *s.Text)
		}
	case pattern:
		r.matches = r.pattern
		if s.Text != nil {
			compiled, e := r.compile(*s.Text)
			if e != nil {
				return nil, e
			}
			r.matches = func(answer, _ string) (bool, error) { return compiled.MatchString(answer), nil }
		}
	default:
		return nil, &plugin.ChoiceError{Text: s.Mode, Choices: matchModes}
	}
	d := score.Description{Detail: score.Head, Columns: []string{"answer"}}
	if s.Text != nil {
		d.Detail = score.Light
	}
	return newOfRow(d, r.value), err
}

func (r *matchReward) value(row *score.Row) score.Value {
	references, err := r.references(row)
	if err != nil {
		return score.FieldFailed(err)
	}
	for _, reference := range references {
		ok, err := r.matches(row.Answer, reference)
		if err != nil {
			return score.Failed(outcomes.RewardError, "%v", err)
		}
		if ok {
			return score.Value{Reward: 1}
		}
	}
	return score.Value{}
}

func (r *matchReward) contains(answer, reference string) (bool, error) {
	reference = r.fold(reference)
	if reference == "" {
		return false, fmt.Errorf("the reference is empty, which every answer contains")
	}
	return strings.Contains(r.fold(answer), reference), nil
}

func (r *matchReward) pattern(answer, reference string) (bool, error) {
	compiled, err := r.compile(reference)
	if err != nil {
		return false, err
	}
	return compiled.MatchString(answer), nil
}

func (r *matchReward) compile(pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, fmt.Errorf("the pattern is empty, which matches every answer")
	}
	if r.Case == ignore {
		pattern = "(?i:" + pattern + ")"
	}
	return regexp.Compile(pattern)
}
