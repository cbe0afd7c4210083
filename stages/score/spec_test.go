package score

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage/fault"
)

func TestParseReward(t *testing.T) {
	for text, want := range map[string]Spec{
		"tree=command:./bin/tictactoe reward":    {Name: "tree", Weight: 1, Kind: "command", Arguments: "./bin/tictactoe reward"},
		" exact * 0.5 = match : exact ":          {Name: "exact", Weight: 0.5, Kind: "match", Arguments: "exact"},
		"short=expr:len(answer) == 100 ? 1 : 0":  {Name: "short", Weight: 1, Kind: "expr", Arguments: "len(answer) == 100 ? 1 : 0"},
		"expr:len(answer) == 100":                {Name: "expr", Weight: 1, Kind: "expr", Arguments: "len(answer) == 100", unnamed: true},
		"late*-1e-3=length:8,4":                  {Name: "late", Weight: -0.001, Kind: "length", Arguments: "8,4"},
		"match:exact,text=a=b":                   {Name: "match", Weight: 1, Kind: "match", Arguments: "exact,text=a=b", unnamed: true},
		"off*0=http:http://localhost:1/a?b=c:d*": {Name: "off", Weight: 0, Kind: "http", Arguments: "http://localhost:1/a?b=c:d*"},
	} {
		got, err := ParseReward(text)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Spec{})); err != nil || diff != "" {
			t.Errorf("%q: error %v\n%s", text, err, diff)
		}
	}
	for text, want := range map[string]string{
		"":                 "the reward is empty",
		"=match:exact":     `"" cannot be a name`,
		"a b=match:exact":  `"a b" cannot be a name`,
		"a*x=match:exact":  `"x" cannot be a weight`,
		"a*Inf=match":      `"Inf" cannot be a weight`,
		"a=":               `"" is not the name of a kind`,
		"just some words!": "is not the name of a kind",
	} {
		_, err := ParseReward(text)
		var e *fault.Error
		if !errors.As(err, &e) || e.Kind != fault.Usage || !strings.Contains(e.Error(), want) || fault.HintOf(e) == "" {
			t.Errorf("%q: error %v does not mention %q", text, err, want)
		}
	}
}

func TestASpecReadsBackAsItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Spec{
			Name:      rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_-]{0,8}`).Draw(t, "name"),
			Weight:    rapid.Float64Range(-1e6, 1e6).Draw(t, "weight"),
			Kind:      rapid.StringMatching(`[a-z]{1,8}`).Draw(t, "kind"),
			Arguments: strings.TrimSpace(rapid.String().Draw(t, "arguments")),
		}
		got, err := ParseReward(want.String())
		if err != nil || !cmp.Equal(want, got, cmpopts.IgnoreUnexported(Spec{})) {
			t.Fatalf("%q is read as %+v, %v", want.String(), got, err)
		}
	})
}

// refusing are settings that make no reward.
type refusing struct{ text string }

func (r *refusing) Declare(d *plugin.Declarer) { d.String(&r.text, "text", "say `TEXT`").WholeSpec() }

func (r *refusing) Reward(Setup) (Reward, error) {
	if r.text == "bad" {
		return nil, errors.New("bad arguments")
	}
	return nil, errors.New("made")
}

func TestOptionsAreCheckedBeforeAnyWork(t *testing.T) {
	kinds := plugin.NewRegistry("reward", RewardKind{Kind: plugin.Kind[RewardSettings]{Name: "match", New: func() RewardSettings { return new(refusing) }}})
	good := Options{In: stages.Input{URI: "a"}, Out: stages.Output{URI: "b"}, Registry: kinds}
	two := func(a, b string) []Spec { x, _ := ParseReward(a); y, _ := ParseReward(b); return []Spec{x, y} }
	for want, change := range map[string]func(*Options){
		"no input":                         func(o *Options) { o.In.URI = "" },
		"no output":                        func(o *Options) { o.Out.URI = "" },
		"no reward is named":               func(o *Options) { o.Rewards = nil },
		"--max-failure-rate 2":             func(o *Options) { r := 2.0; o.MaxFailureRate = &r },
		"--shard 4/4 is out of range":      func(o *Options) { o.Out.Shard = stages.Shard{Index: 4, Count: 4} },
		`two rewards are named "a"`:        func(o *Options) { o.Rewards = two("a=match:x", "a=match:y") },
		`reward "match:y" has no name`:     func(o *Options) { o.Rewards = two("a=match:x", "match:y") },
		`there is no kind "mach"`:          func(o *Options) { o.Rewards[0].Kind = "mach" },
		`reward "a": bad arguments`:        func(o *Options) { o.Rewards[0].Arguments = "bad" },
		`"no-such": there is no such file`: func(o *Options) { o.DependsOn = []string{"no-such"} },
		`reward "a": made`:                 func(*Options) {},
		"--shard 0/-1 is out of range":     func(o *Options) { o.Out.Shard.Count = -1 },
		"--max-failure-rate -0.1 is not":   func(o *Options) { r := -0.1; o.MaxFailureRate = &r },
	} {
		o := good
		o.Rewards = two("a=match:x", "b=match:y")
		change(&o)
		err := o.Validate()
		var e *fault.Error
		kind := fault.Usage
		if strings.HasSuffix(want, "no such file") {
			kind = fault.Input
		}
		if !errors.As(err, &e) || e.Kind != kind || !strings.Contains(e.Error(), want) {
			t.Errorf("error %v does not mention %q", err, want)
		}
		if want == `there is no kind "mach"` && fault.HintOf(e) != `did you mean "match"?` {
			t.Errorf("the hint is %q", fault.HintOf(e))
		}
	}
}
