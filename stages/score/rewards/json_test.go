package rewards_test

import (
	stdjson "encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards"
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

func TestJSONConformance(t *testing.T) {
	for _, arguments := range []string{"whole", "fenced,schema=" + schema(t, move), "whole,at=a.b,field=n"} {
		rewardtest.Run(t, rewardtest.Suite{Kind: rewards.JSON, Arguments: arguments})
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
		if v := rewardtest.Score(t, rewardtest.New(t, rewards.JSON, c.arguments), []*score.Row{row})[0]; v.Failure != "" || v.Reward != c.want {
			t.Errorf("json:%s of %s is %+v, want %v", c.arguments, c.answer, v, c.want)
		}
	}
	row := &score.Row{Trajectory: &formats.Trajectory{Answer: "1", Example: `{}`}}
	if v := rewardtest.Score(t, rewardtest.New(t, rewards.JSON, "whole,field=capital"), []*score.Row{row})[0]; v.Failure != outcomes.RewardMissing {
		t.Errorf("without the field it is %+v", v)
	}
}

func TestJSONBadArgumentsAreNamed(t *testing.T) {
	for arguments, want := range map[string]string{
		"some": `"some"`, "whole,at=a": "needs field=NAME", "whole,text={": "is not JSON", "whole,field=a,text=1": "not both",
		"whole,schema=no-such.json":                                                          "no-such.json",
		"whole,schema=" + schema(t, `{"type":7}`):                                            "schema",
		"whole,schema=" + schema(t, `{"$ref":"http://example.org/other.json"}`):              "example.org",
		"whole,schema=" + schema(t, `{"$ref":"file:///etc/hostname"}`):                       "hostname",
		"whole,schema=" + schema(t, `{"$schema":"http://json-schema.org/draft-04/schema#"}`): "draft-04",
		"whole,schema=" + schema(t, `{"minimum":"1"}`):                                       "schema",
		"whole,schema=" + schema(t, `{"items":[{"multipleOf":0.01}]}`):                       "multipleOf",
		"whole,schema=" + schema(t, `{"pattern":"("}`):                                       "schema",
	} {
		_, err := rewards.JSON.Make(arguments, score.Setup{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("json:%s: error %v does not mention %q", arguments, err, want)
		}
	}
}

// TestSchemasMeanWhatTheyMeanElsewhere compares with what another library,
// santhosh-tekuri/jsonschema 6.0.3, said: which answers fit a schema, and which do not.
func TestSchemasMeanWhatTheyMeanElsewhere(t *testing.T) {
	lines, err := os.ReadFile("testdata/schemas.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	judged := 0
	for line := range strings.Lines(string(lines)) {
		var c struct {
			Schema     stdjson.RawMessage
			Fit, Other []stdjson.RawMessage
		}
		if err := stdjson.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		reward := rewardtest.New(t, rewards.JSON, "whole,schema="+schema(t, string(c.Schema)))
		for want, answers := range [][]stdjson.RawMessage{c.Other, c.Fit} {
			for _, answer := range answers {
				judged++
				row := &score.Row{Trajectory: &formats.Trajectory{Answer: string(answer)}}
				if v := rewardtest.Score(t, reward, []*score.Row{row})[0]; v.Failure != "" || v.Reward != float64(want) {
					t.Errorf("%s of %s is %+v, elsewhere %d", c.Schema, answer, v, want)
				}
			}
		}
	}
	if judged != 910 {
		t.Errorf("%d answers are judged", judged)
	}
}
