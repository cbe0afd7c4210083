package json_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards/json"
	"github.com/rollmill/rollmill/stages/score/rewards/rewardtest"
)

func schema(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

const move = `{"type":"object","required":["row"],"properties":{"row":{"type":"integer","minimum":0,"maximum":2}},"additionalProperties":false}`

func TestConformance(t *testing.T) {
	for _, arguments := range []string{"whole", "fenced,schema=" + schema(t, move), "whole,at=a.b,field=n"} {
		rewardtest.Run(t, rewardtest.Suite{Kind: json.Kind, Arguments: arguments})
	}
}

func TestJSON(t *testing.T) {
	file := schema(t, move)
	for _, c := range []struct {
		arguments, answer string
		want              float64
	}{
		{"", `{"a": [1, 2]}`, 1},
		{"whole", ` 3 `, 1},
		{"whole", `{"a": `, 0},
		{"whole", ``, 0},
		{"whole", `{"a":1} and more`, 0},
		{"whole,schema=" + file, `{"row":2}`, 1},
		{"whole,schema=" + file, `{"row":2.0}`, 1},
		{"whole,schema=" + file, `{"row":3}`, 0},
		{"whole,schema=" + file, `{"row":1,"col":1}`, 0},
		{"fenced,schema=" + file, "no:\n```json\n{\"row\":9}\n```\nyes:\n```\n{\"row\":1}\n```\n", 1},
		{"fenced", `{"row":1}`, 0},
		{"whole,at=city.names.1,field=capital", `{"city":{"names":["x","Paris"]}}`, 1},
		{"whole,at=city.names.2,field=capital", `{"city":{"names":["x","Paris"]}}`, 0},
		{"whole,field=whole", `{"b":[2],"a":1}`, 1},
		{"whole,at=a,text={\"x\": [1, null]}", `{"a":{"x":[1,null]}}`, 1},
		{"whole,at=a,text=true", `{"a":"true"}`, 0},
	} {
		row := &score.Row{Trajectory: &formats.Trajectory{Answer: c.answer, Example: `{"capital":"Paris","whole":{"a":1,"b":[2]}}`}}
		if v := rewardtest.Score(t, rewardtest.New(t, json.Kind, c.arguments), []*score.Row{row})[0]; v.Failure != "" || v.Reward != c.want {
			t.Errorf("json:%s of %s is %+v, want %v", c.arguments, c.answer, v, c.want)
		}
	}
	row := &score.Row{Trajectory: &formats.Trajectory{Answer: "1", Example: `{}`}}
	if v := rewardtest.Score(t, rewardtest.New(t, json.Kind, "whole,field=capital"), []*score.Row{row})[0]; v.Failure != formats.RewardMissing {
		t.Errorf("without the field it is %+v", v)
	}
}

func TestBadArgumentsAreNamed(t *testing.T) {
	for arguments, want := range map[string]string{
		"some": `"some"`, "whole,at=a": "wants field=NAME", "whole,text={": "is not JSON", "whole,field=a,text=1": "not both", "whole,schema=no-such.json": "no-such.json",
		"whole,schema=" + schema(t, `{"type":7}`):                               "schema",
		"whole,schema=" + schema(t, `{"$ref":"http://example.org/other.json"}`): "example.org",
		"whole,schema=" + schema(t, `{"$ref":"file:///etc/hostname"}`):          "hostname",
	} {
		_, err := json.Kind.New(score.Setup{Spec: score.Spec{Arguments: arguments}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("json:%s: error %v does not mention %q", arguments, err, want)
		}
	}
}
