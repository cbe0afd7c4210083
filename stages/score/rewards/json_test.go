package rewards_test

import (
	stdjson "encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	other "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rollmill/rollmill/formats"
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
	if v := rewardtest.Score(t, rewardtest.New(t, rewards.JSON, "whole,field=capital"), []*score.Row{row})[0]; v.Failure != formats.RewardMissing {
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

// Another library agrees on which answers fit which schemas.
func TestSchemasMeanWhatTheyMeanElsewhere(t *testing.T) {
	schemas := []string{move, `true`, `false`, `{}`, `{"type":["integer","null"]}`, `{"multipleOf":2}`, `{"enum":[1,"a",null,[1,2],{"a":1}]}`,
		`{"const":{"a":[1]}}`,
		`{"type":"string","minLength":2,"maxLength":3,"pattern":"^[a-z]+$"}`, `{"format":"date"}`,
		`{"type":"array","items":{"type":"number","exclusiveMinimum":0},"uniqueItems":true}`,
		`{"prefixItems":[{"type":"integer"}],"items":false}`, `{"contains":{"const":2},"maxContains":1}`, `{"minItems":1,"maxItems":2}`,
		`{"required":["a"],"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`,
		`{"patternProperties":{"^x":{"type":"string"}},"additionalProperties":{"type":"integer"}}`,
		`{"propertyNames":{"maxLength":1}}`, `{"dependentRequired":{"a":["b"]}}`, `{"if":{"type":"integer"},"then":{"minimum":2},"else":{"type":"string"}}`,
		`{"anyOf":[{"type":"integer"},{"type":"string"}]}`, `{"oneOf":[{"minimum":1},{"maximum":1}]}`, `{"not":{"type":"object"}}`,
		`{"allOf":[{"required":["a"]}],"unevaluatedProperties":false}`,
		`{"$ref":"#/$defs/tree","$defs":{"tree":{"type":"object","properties":{"a":{"$ref":"#/$defs/tree"}}}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"integer"}],"additionalItems":false}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"n":{"type":"integer"}},"properties":{"a":{"$ref":"#/definitions/n"}}}`}
	answers := []string{`null`, `true`, `0`, `1`, `1.0`, `2`, `0.07`, `1e300`, `-3.5`, `""`, `"a"`, `"ab"`, `"é"`, `"éé"`, `"abcd"`, `"not a date"`, `[]`,
		`[1]`, `[1,2]`, `[1,1]`, `[2,2]`,
		`["a",1]`, `[0]`, `{}`, `{"a":1}`, `{"a":"x"}`, `{"a":[1]}`, `{"a":{}}`, `{"a":{"a":1}}`, `{"a":1,"b":2}`, `{"row":2}`, `{"row":3}`, `{"xy":1}`,
		`{"xy":"s"}`, `{"long":1}`}
	for _, text := range schemas {
		reward := rewardtest.New(t, rewards.JSON, "whole,schema="+schema(t, text))
		document, err := other.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		c := other.NewCompiler()
		if err := c.AddResource("schema.json", document); err != nil {
			t.Fatal(err)
		}
		judge := c.MustCompile("schema.json")
		for _, answer := range answers {
			var value any
			if err := stdjson.Unmarshal([]byte(answer), &value); err != nil {
				t.Fatal(err)
			}
			want := 0.0
			if judge.Validate(value) == nil {
				want = 1
			}
			row := &score.Row{Trajectory: &formats.Trajectory{Answer: answer}}
			if v := rewardtest.Score(t, reward, []*score.Row{row})[0]; v.Failure != "" || v.Reward != want {
				t.Errorf("%s of %s is %+v, elsewhere %v", text, answer, v, want)
			}
		}
	}
}
