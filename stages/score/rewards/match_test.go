package rewards_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards"
	"github.com/rollmill/rollmill/stages/score/rewards/rewardtest"
)

func TestMatchConformance(t *testing.T) {
	for _, arguments := range []string{"exact", "contains,case=ignore", "regexp,field=n", "number,tolerance=1%", `regexp,text=is [0-2]\.`} {
		t.Run(arguments, func(t *testing.T) { rewardtest.Run(t, rewardtest.Suite{Kind: rewards.Match, Arguments: arguments}) })
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		arguments, example, answer string
		want                       float64
		failure                    string
	}{
		{"exact", `{"answer":"Paris"}`, " Paris\n", 1, ""},
		{"exact", `{"answer":"Paris"}`, "paris", 0, ""},
		{"exact,case=ignore", `{"answer":"Paris"}`, "paris", 1, ""},
		{"exact,space=keep", `{"answer":"Paris"}`, "Paris ", 0, ""},
		{"exact,space=fold", `{"answer":"New York"}`, "New \n York", 1, ""},
		{"exact,field=target", `{"target":3}`, "3", 1, ""},
		{"exact,field=meta.target", `{"meta":{"target":true}}`, "true", 1, ""},
		{"exact,field=a.b", `{"a.b":"x"}`, "x", 1, ""},
		{"exact", `{"answer":["a","b"]}`, "b", 1, ""},
		{"exact", `{"answer":[]}`, "b", 0, outcomes.RewardError},
		{"exact", `{"question":"?"}`, "b", 0, outcomes.RewardMissing},
		{"exact", `{"answer":null}`, "", 0, outcomes.RewardError},
		{"exact", `{"answer":""}`, "", 1, ""},
		{"contains", `{"answer":"Paris"}`, "It is Paris.", 1, ""},
		{"contains", `{"answer":""}`, "It is Paris.", 0, outcomes.RewardError},
		{"contains,text=a,b", `{}`, "x a,b y", 1, ""},
		{"regexp,text=^[0-9]{1,3}$", `{}`, "123", 1, ""},
		{"regexp,text=^[0-9]{1,3}$", `{}`, "1234", 0, ""},
		{"regexp,case=ignore,text=yes|no", `{}`, "NO", 1, ""},
		{"regexp", `{"answer":"("}`, "(", 0, outcomes.RewardError},
		{"number", `{"answer":"so #### 1,234"}`, "it is 1234.", 1, ""},
		{"number", `{"answer":18}`, "first 3, then 18", 1, ""},
		{"number", `{"answer":18}`, "none", 0, ""},
		{"number", `{"answer":"none"}`, "18", 0, outcomes.RewardError},
		{"number", `{"answer":-2.5}`, "x = -2.5", 1, ""},
		{"number", `{"answer":4}`, "3-4", 0, ""},
		{"number,tolerance=0.1", `{"answer":1}`, "1.09", 1, ""},
		{"number,tolerance=0.1", `{"answer":1}`, "1.11", 0, ""},
		{"number,tolerance=1%", `{"answer":-200}`, "-201.9", 1, ""},
		{"number,tolerance=1%", `{"answer":-200}`, "-203", 0, ""},
	} {
		row := &score.Row{Trajectory: &formats.Trajectory{Example: c.example, Answer: c.answer}}
		v := rewardtest.Score(t, rewardtest.New(t, rewards.Match, c.arguments), []*score.Row{row})[0]
		if v.Failure != c.failure || v.Failure == "" && v.Reward != c.want {
			t.Errorf("match:%s of %q against %s is %+v, want %v %s", c.arguments, c.answer, c.example, v, c.want, c.failure)
		}
	}
}

func TestMatchBadArgumentsAreNamed(t *testing.T) {
	for arguments, want := range map[string]string{
		"":                     `"" is not one of exact, contains`,
		"exakt":                `"exakt" is not one of exact, contains, regexp, number`,
		"exact,colour=red":     `"colour" is not one of the options field`,
		"exact,space=wide":     `space=wide: "wide" is not one of keep, trim, fold`,
		"exact,case=upper":     `case=upper: "upper" is not one of keep, ignore`,
		"number,tolerance=NaN": `"NaN"`,
		"number,text=none":     "no number in the reference",
		"regexp,text=(":        "missing closing )",
		"regexp,text=":         "empty",
	} {
		_, err := rewards.Match.Make(arguments, score.Setup{Log: slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("match:%s: error %v does not mention %q", arguments, err, want)
		}
	}
}
