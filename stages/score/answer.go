package score

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// Answer is a program's or a service's answer about one row:
//
//	{"id": "...", "reward": 0.5, "shaped_rewards": [0.1, 0.4], "signals": [0.9, null],
//	 "error": "..."}
//
// A reward of null is no reward; error says why. Other keys are ignored.
type Answer struct {
	ID    string
	Value Value
}

// AnswerLine is an answer as a program or a service writes it.
type AnswerLine struct {
	ID      *string           `json:"id" jsonschema:"of the request"`
	Reward  json.RawMessage   `json:"reward,omitempty" jsonschema:"a finite number; null if there is none, and error says why"`
	Shaped  []json.RawMessage `json:"shaped_rewards,omitempty" jsonschema:"one for each message of the request with sampled"`
	Signals []json.RawMessage `json:"signals,omitempty" jsonschema:"one for each message of the request with sampled: what the reward says of it, or null"`
	Error   *string           `json:"error,omitempty" jsonschema:"why there is no reward; the trajectory is then excluded"`
	Trace   string            `json:"traceback,omitempty" jsonschema:"with error: the whole of it, kept once for each error"`
}

// ReadAnswer reads one answer. Its value is a failure if the answer's row is known and its
// reward is invalid; the error is for an answer that belongs to no known row.
func ReadAnswer(data []byte) (Answer, error) {
	var w AnswerLine
	clean, lost := jsontext.Mend(data)
	err := json.Unmarshal(clean, &w)
	var mistyped *json.UnmarshalTypeError
	if err == nil || errors.As(err, &mistyped) && mistyped.Field != "id" {
		bad := jsontext.CheckKeys(clean, struct {
			ID string `json:"id"`
		}{})
		switch {
		case bad != nil:
			err = bad
		case w.ID == nil && err == nil:
			return Answer{}, fmt.Errorf("%s has no id", Quote(data))
		case w.ID != nil:
			if err = cmp.Or(err, jsontext.CheckKeys(clean, w)); err == nil {
				return Answer{*w.ID, w.value(data, lost)}, nil
			}
			return Answer{*w.ID, Failed(outcomes.RewardAnswer, "%s is not an answer: %v", Quote(data), err)}, nil
		}
	}
	return Answer{}, fmt.Errorf("%s is not an answer: %w", Quote(data), err)
}

func (w *AnswerLine) value(data []byte, lost []string) Value {
	odd := func(field string) bool { return field == "reward" || field == "shaped_rewards" || field == "signals" }
	switch {
	case w.Error != nil && *w.Error != "":
		return Value{Failure: outcomes.RewardError, Error: *w.Error, Traceback: w.Trace}
	case slices.ContainsFunc(lost, odd):
		return Failed(outcomes.RewardNotFinite, "%s: NaN and infinities are no rewards", Quote(data))
	case w.Reward == nil:
		return Failed(outcomes.RewardAnswer, "%s has no reward", Quote(data))
	case string(w.Reward) == "null":
		return Failed(outcomes.RewardError, "the reward is null and no error says why")
	}
	reward, failure := number(w.Reward)
	v := Value{Reward: reward, Failure: failure}
	for _, s := range w.Shaped {
		step, failure := number(s)
		v.Failure = cmp.Or(v.Failure, failure)
		v.Shaped = append(v.Shaped, step)
	}
	for k, s := range w.Signals {
		if string(s) == "null" {
			continue
		}
		value, failure := number(s)
		v.Failure = cmp.Or(v.Failure, failure)
		v.Signals = append(v.Signals, formats.Signal{Message: int32(k), Value: value})
	}
	if v.Failure != "" {
		return Failed(v.Failure, "%s: a reward is a finite number", Quote(data))
	}
	return v
}

func number(text json.RawMessage) (float64, string) {
	if len(text) == 0 || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return 0, outcomes.RewardAnswer
	}
	n, err := strconv.ParseFloat(string(text), 64)
	if errors.Is(err, strconv.ErrRange) && (n > 1 || n < -1) {
		return 0, outcomes.RewardNotFinite
	}
	return n, ""
}

// Quote returns the beginning of a program's or service's output, for an error.
func Quote(data []byte) string {
	const limit = 200
	if len(data) > limit {
		return strconv.QuoteToGraphic(string(data[:limit])) + "..."
	}
	return strconv.QuoteToGraphic(string(data))
}
