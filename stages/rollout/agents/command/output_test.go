package command

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

// TestTextBeforeAResult does not hide it, and a result that is broken is never
// taken for text.
func TestTextBeforeAResult(t *testing.T) {
	const result, broken, none = `reward 1`, outcomes.FailAgentOutput, ""
	for out, want := range map[string]string{
		`{"reward":1}`: result,
		"{\n\"metadata\":{\"a\":[\n{\n}]},\"reward\":1}":        result,
		"loading\n{\"reward\":1}\n":                             result,
		"loading\r\n{\n  \"n\": [{}],\n  \"reward\": 1\n}\r\n":  result,
		"loading\n{\"metadata\":{\"text\":\"{\"},\"reward\":1}": result,
		"{\"level\":\"info\"}\n{\"reward\":1}":                  result,
		"{'a': 1}\n{\"reward\":1}":                              result,
		"{\"reward\":0}\n{\"reward\":1}":                        result,
		`{"reward":1`:                                           broken,
		"{\"reward\":1}\ndone":                                  broken,
		"{'a': 1}\ndone":                                        broken,
		"{\"level\":\"info\"}\n{\"level\":\"info\"}":            broken,
		"loading\n{\"reward\":1":                                broken,
		"loading\n{\"reward\":1}\ndone":                         broken,
		"loading\n{ \"answer\": \"a\nb\"}":                      broken,
		"loading\n{\"Reward\":1}":                               broken,
		"loading\n{\"reward\":\"good\"}":                        broken,
		"":                                                      none,
		"42":                                                    none,
		"the answer is {\"reward\":1}":                          none,
		"the answer is\n {\"reward\":1}":                        none,
		"loading\n{\"level\":\"info\"}":                         none,
		"loading\n{\"rewarded\":1":                              none,
		"loading\n{x}":                                          none,
		"[\n{\"reward\":1}\n]":                                  none,
	} {
		got, err := agents.ReadResult(resultIn([]byte(out)))
		var failure *agents.Failure
		is := none
		switch {
		case errors.As(err, &failure):
			is = failure.Class
		case got.Reward != nil && *got.Reward == 1:
			is = result
		}
		if is != want {
			t.Errorf("%q is %q, want %q: %v", out, is, want, err)
		}
	}
}

// TestKeysOfResults: all of them are known.
func TestKeysOfResults(t *testing.T) {
	of := reflect.TypeFor[agents.Output]()
	for i := range of.NumField() {
		if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); i >= len(keys) || keys[i] != name {
			t.Errorf("key %q is not one of %q", name, keys)
		}
	}
}
