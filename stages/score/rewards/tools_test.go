package rewards_test

import (
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards"
	"github.com/rollmill/rollmill/stages/score/rewards/rewardtest"
)

func TestToolsConformance(t *testing.T) {
	for _, arguments := range []string{"all", `share,text=[{"name":"count","arguments":{"upto":1}},{"name":"other"}]`, `exact,text=[{"name":"count"}]`} {
		rewardtest.Run(t, rewardtest.Suite{Kind: rewards.Tools, Arguments: arguments})
	}
}

func TestTools(t *testing.T) {
	two := []formats.ToolCall{{Name: "add", Arguments: `{"a":1,"b":2}`}, {Name: "say", Arguments: `{"text":"3"}`}}
	for _, c := range []struct {
		mode, wanted string
		made         []formats.ToolCall
		want         float64
	}{
		{"all", `[{"name":"say"}]`, two, 1},
		{"all", `[{"name":"add","arguments":{"b":2}}]`, two, 1},
		{"all", `[{"name":"add","arguments":{"b":"2"}}]`, two, 0},
		{"all", `[{"name":"add"},{"name":"add"}]`, two, 0},
		{"share", `[{"name":"add"},{"name":"add"}]`, two, 0.5},
		{"share", `[{"name":"shout"}]`, nil, 0},
		{"all", `[{"name":"add"},{"name":"add","arguments":{"a":1}}]`, []formats.ToolCall{two[0], {Name: "add", Arguments: `{"a":9}`}}, 1},
		{"exact", `[{"name":"add","arguments":{"a":1,"b":2}},{"name":"say"}]`, two, 1},
		{"exact", `[{"name":"say"},{"name":"add"}]`, two, 0},
		{"exact", `[{"name":"add","arguments":{"a":1}},{"name":"say"}]`, two, 0},
		{"exact", `[]`, nil, 1},
		{"exact", `[]`, two, 0},
		{"all", `[{"name":"add","arguments":{}}]`, []formats.ToolCall{{Name: "add", Arguments: "not json"}}, 0},
		{"all", `[{"name":"add"}]`, []formats.ToolCall{{Name: "add", Arguments: "not json"}}, 1},
	} {
		row := &score.Row{Trajectory: &formats.Trajectory{
			Example: `{"tool_calls":` + c.wanted + `}`, Calls: []formats.Call{{Target: true}},
			Messages: []formats.Message{{Parent: -1, Call: -1, ToolCalls: []formats.ToolCall{{Name: "shout"}}}, {Parent: 0, Sampled: true, ToolCalls: c.made}},
		}}
		for _, arguments := range []string{c.mode, c.mode + ",text=" + c.wanted} {
			if v := rewardtest.Score(t, rewardtest.New(t, rewards.Tools, arguments), []*score.Row{row})[0]; v.Failure != "" || v.Reward != c.want {
				t.Errorf("tools:%s against %s is %+v, want %v", arguments, c.wanted, v, c.want)
			}
		}
	}
}

func TestToolsBadArgumentsAreNamed(t *testing.T) {
	for arguments, want := range map[string]string{
		"": `"" is not one of all`, "most": `"most"`, "all,text={": "not JSON", "all,text={}": "a list", "all,text=[]": "empty",
		"all,text=[{}]": "no name", `all,text=[{"name":"a","arguments":3}]`: "not an object", "all,fields=a": `"fields"`,
	} {
		_, err := rewards.Tools.Make(arguments, score.Setup{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("tools:%s: error %v does not mention %q", arguments, err, want)
		}
	}
}
