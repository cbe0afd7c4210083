package score

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
)

func TestSignalsAreFinite(t *testing.T) {
	if v := checked(Value{Signals: []formats.Signal{{Value: math.Inf(1)}}}); v.Failure != outcomes.RewardNotFinite {
		t.Errorf("%+v", v)
	}
}

func TestReadAnswer(t *testing.T) {
	for text, want := range map[string]Value{
		`{"id":"x","reward":0.5}`:                         {Reward: 0.5},
		`{"reward":-1e3,"id":"x","more":[{}]}`:            {Reward: -1000},
		`{"id":"x","reward":1,"shaped_rewards":[0.1,2]}`:  {Reward: 1, Shaped: []float64{0.1, 2}},
		`{"id":"x","reward":1,"signals":[null,2]}`:        {Reward: 1, Signals: []formats.Signal{{Message: 1, Value: 2}}},
		`{"id":"x","reward":null}`:                        {Failure: outcomes.RewardError},
		`{"id":"x","reward":null,"error":"lost"}`:         {Failure: outcomes.RewardError, Error: "lost"},
		`{"id":"x","reward":NaN}`:                         {Failure: outcomes.RewardNotFinite},
		`{"id":"x","reward":0.5,"debug":{"kl":NaN}}`:      {Reward: 0.5},
		`{"id":"x","reward":0.5,"debug":[-NaN,Infinity]}`: {Reward: 0.5},
		`{"id":"x","reward":NaN,"error":"by zero"}`:       {Failure: outcomes.RewardError, Error: "by zero"},
		`{"id":"x","reward":1,"signals":[-NaN]}`:          {Failure: outcomes.RewardNotFinite},
		`{"id":"x","reward":-Infinity}`:                   {Failure: outcomes.RewardNotFinite},
		`{"id":"x","reward":1e999}`:                       {Failure: outcomes.RewardNotFinite},
		`{"id":"x","reward":1,"shaped_rewards":[NaN]}`:    {Failure: outcomes.RewardNotFinite},
		`{"id":"x","reward":1,"shaped_rewards":["a"]}`:    {Failure: outcomes.RewardAnswer},
		`{"id":"x","reward":1,"shaped_rewards":3}`:        {Failure: outcomes.RewardAnswer},
		`{"id":"x","reward":"1"}`:                         {Failure: outcomes.RewardAnswer},
		`{"id":"x","reward":true}`:                        {Failure: outcomes.RewardAnswer},
		`{"id":"x"}`:                                      {Failure: outcomes.RewardAnswer},
		`{"id":"x","reward":1,"error":"but no \"NaN\""}`:  {Failure: outcomes.RewardError, Error: `but no "NaN"`},
		`{"id":"x","reward":2,"note":"Infinity \" NaN "}`: {Reward: 2},
	} {
		got, err := ReadAnswer([]byte(text))
		if err != nil || got.ID != "x" || got.Value.Failure != want.Failure || got.Value.Reward != want.Reward || len(got.Value.Shaped) != len(want.Shaped) ||
			want.Error != "" && got.Value.Error != want.Error {
			t.Errorf("%s is %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, says := range map[string]string{ // encoding/json takes the last of a key's spellings, and another reader another
		`{"id":"x","Reward":1}`:                               `the key "Reward" has to be written "reward"`,
		`{"id":"x","reward":1,"reward":0}`:                    `the key "reward" is there twice`,
		`{"id":"x","reward":1,"ERROR":"lost"}`:                `the key "ERROR" has to be written "error"`,
		`{"id":"x","reward":"1","Reward":1}`:                  `has to be written`,
		`{"id":"x","reward":1,"shaped_rewards":3,"Reward":1}`: `is not an answer`,
	} {
		got, err := ReadAnswer([]byte(text))
		if err != nil || got.ID != "x" || got.Value.Failure != outcomes.RewardAnswer || !strings.Contains(got.Value.Error, says) {
			t.Errorf("%s is %+v, %v; want %s", text, got, err, says)
		}
	}
	for _, text := range []string{`{"ID":"x","reward":1}`, `{"id":"x","ID":"x","reward":1}`, `{"id":"x","id":"y","reward":1}`, `{"id":"x","id":"x","reward":1}`,
		``, `null`, `[]`, `{}`, `{"reward":1}`, `{"id":7,"reward":1}`, `{"id":"x"`, `fine`, `{"id":"x","reward":1} {}`} {
		if got, err := ReadAnswer([]byte(text)); err == nil {
			t.Errorf("%s is %+v", text, got)
		}
	}
}

// FuzzReadAnswer holds the reader to its word whatever a program says.
func FuzzReadAnswer(f *testing.F) {
	for _, seed := range []string{`{"id":"x","reward":0.5,"shaped_rewards":[1,null]}`, `{"id":"x","reward":NaN}`,
		`{"id":"\"NaN","reward":-Infinity,"error":""}`, `{"id":null}`, "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := ReadAnswer(data)
		if err != nil {
			return
		}
		v := checked(a.Value)
		if v.Failure == "" && (math.IsNaN(v.Reward) || math.IsInf(v.Reward, 0)) {
			t.Errorf("%q gave %v", data, v.Reward)
		}
		if v.Failure != "" && (v.Error == "" || v.Reward != 0 || v.Shaped != nil) {
			t.Errorf("%q gave %+v", data, v)
		}
		var plain struct{ ID *string }
		if json.Unmarshal(data, &plain) == nil && (plain.ID == nil || *plain.ID != a.ID) {
			t.Errorf("%q was taken for an answer to %q", data, a.ID)
		}
	})
}

func TestALongErrorKeepsItsEnd(t *testing.T) {
	v := checked(Failed("no such class", "%s\xff the cause", strings.Repeat("x", 10000)))
	if v.Failure != outcomes.RewardError || len(v.Error) > maxErrorBytes+10 || !strings.HasSuffix(v.Error, "\uFFFD the cause") {
		t.Errorf("it is %q", v.Error)
	}
}
