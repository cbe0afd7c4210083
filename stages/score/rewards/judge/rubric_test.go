package judge_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards/judge"
	"github.com/rollmill/rollmill/stages/score/rewards/judge/judgetest"
	"github.com/rollmill/rollmill/stages/score/rewards/rewardtest"
	"github.com/rollmill/rollmill/storage/fault"
)

// rubricOf writes a file of items, each in a line of YAML's flow style.
func rubricOf(t testing.TB, items ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "items.yaml")
	if err := os.WriteFile(name, []byte("items:\n  - {"+strings.Join(items, "}\n  - {")+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// answered scores one row by a rubric whose judge says each text in turn, the last for ever.
func answered(t *testing.T, arguments string, texts ...string) (score.Value, int64) {
	t.Helper()
	s := judgetest.New(t)
	var n atomic.Int64
	s.Answer = func(judgetest.Request, string) (int, string) { return 200, texts[min(int(n.Add(1)), len(texts))-1] }
	v := rewardtest.Score(t, made(t, s.Judging(ask), 0, "model=m,"+arguments), rewardtest.Rows()[:1])[0]
	return v, s.Asked.Load()
}

func TestRubricConforms(t *testing.T) {
	file := rubricOf(t, "name: a, text: It is short., weight: 3", "name: b, text: It is rude., polarity: negative", "name: c, text: It is right., must-have: true")
	for _, calls := range []string{"one", "each"} {
		s := judgetest.New(t)
		s.Answer = func(r judgetest.Request, say string) (int, string) {
			return 200, map[bool]string{true: "{", false: say}[about(r)]
		}
		suite := rewardtest.Suite{Kind: judge.Kind, Arguments: "model=m,rubric=" + file + ",calls=" + calls, Judging: s.Judging(ask), Bad: bad}
		suite.Judging.Store = nil
		rewardtest.Run(t, suite)
	}
}

// shown is the parts of a value in short: a number, or "-".
func shown(v score.Value) (out string) {
	for _, p := range v.Parts {
		if p.Value == nil {
			out += " -"
		} else {
			out += fmt.Sprintf(" %.4g", *p.Value)
		}
	}
	return strings.TrimSpace(out)
}

// TestOddRepliesToItems: what an item's score is not said of is null, with a cause, and so is the total;
// it is sent back first. What the other items have stands.
func TestOddRepliesToItems(t *testing.T) {
	file := rubricOf(t, "name: a, text: A.", "name: b, text: B., must-have: true", "name: c, text: C., polarity: negative")
	const a, b, c = `"a":{"reason":"so","score":0.5}`, `"b":{"reason":"yes","score":1}`, `"c":{"reason":"no","score":0.25}`
	good := "{" + a + "," + b + "," + c + "}"
	for _, x := range []struct{ name, text, want, says string }{
		{"plain", good, "0.5 1 0.25", ""},
		{"prose around", "I think\n" + good + "\nthat is all", "0.5 1 0.25", ""},
		{"fenced", "```json\n" + good + "\n```", "0.5 1 0.25", ""},
		{"after thinking", "<think>{" + a + "}</think>" + good, "0.5 1 0.25", ""},
		{"two objects", "{" + a + "} no, wait: " + good, "0.5 1 0.25", ""},
		{"another order", "{" + c + "," + b + "," + a + "}", "0.5 1 0.25", ""},
		{"a reason is missing", "{" + a + "," + b + `,"c":{"score":0.25}}`, "0.5 1 0.25", ""},
		{"a huge reason", "{" + a + "," + b + `,"c":{"reason":"` + strings.Repeat("because ", 100_000) + `","score":0.25}}`, "0.5 1 0.25", ""},
		{"further fields of an item", "{" + a + "," + b + `,"c":{"reason":"no","score":0.25,"sure":true}}`, "0.5 1 0.25", ""},
		{"an item is missing", "{" + a + "," + b + "}", "0.5 1 -", "the answer has it 0 times"},
		{"a must-have is missing", "{" + a + "," + c + "}", "0.5 - 0.25", "the answer has it 0 times"},
		{"an item twice", "{" + a + "," + b + "," + c + "," + c + "}", "0.5 1 -", "the answer has it 2 times"},
		{"an item twice, another score", "{" + a + `,"b":{"score":0},` + b + "," + c + "}", "0.5 - 0.25", "the answer has it 2 times"},
		{"an item in other letters", "{" + a + "," + b + `,"C":{"reason":"no","score":0.25}}`, "0.5 1 -", "the answer has it 0 times"},
		{"a score as text", "{" + a + "," + b + `,"c":{"reason":"no","score":"0.25"}}`, "0.5 1 -", "string"},
		{"a score out of range", "{" + a + "," + b + `,"c":{"reason":"no","score":1.5}}`, "0.5 1 -", "1.5 is not from 0 to 1"},
		{"a negative score", "{" + a + `,"b":{"reason":"no","score":-1},` + c + "}", "0.5 - 0.25", "-1 is not from 0 to 1"},
		{"a score of null with a reason", "{" + a + "," + b + `,"c":{"reason":"cannot tell","score":null}}`, "0.5 1 -", "there is no score"},
		{"no score", "{" + a + "," + b + `,"c":{"reason":"no"}}`, "0.5 1 -", "there is no score"},
		{"a key of an item twice", "{" + a + "," + b + `,"c":{"score":0.25,"score":1}}`, "0.5 1 -", "twice"},
		{"a key in other letters", "{" + a + "," + b + `,"c":{"Score":0.25}}`, "0.5 1 -", "has to be written"},
		{"true for a score", "{" + a + "," + b + `,"c":{"score":true}}`, "0.5 1 -", "bool"},
		{"a number for an item", "{" + a + "," + b + `,"c":0.25}`, "0.5 1 -", "number"},
		{"null for an item", "{" + a + "," + b + `,"c":null}`, "0.5 1 -", "there is no score"},
		{"a list for an item", "{" + a + "," + b + `,"c":[0.25]}`, "0.5 1 -", "array"},
		{"a huge number", "{" + a + "," + b + `,"c":{"score":1e999}}`, "0.5 1 -", "1e999"},
		{"a reason that is no text", "{" + a + "," + b + `,"c":{"reason":["no"],"score":0.25}}`, "0.5 1 -", "array"},
		{"not a number", "{" + a + "," + b + `,"c":{"reason":"no","score":NaN}}`, "", ""},
		{"truncated", good[:len(good)-2], "", "no JSON object"},
		{"truncated prose", "Here: {" + a + ",", "", "no JSON object"},
		{"a list of items", `[{"name":"a","score":0.5},{"name":"b","score":1},{"name":"c","score":0.25}]`, "- - -", "the answer has it 0 times"},
		{"scores in a field", `{"scores":{` + a + "," + b + "," + c + "}}", "- - -", "the answer has it 0 times"},
		{"an empty object", "{}", "- - -", "the answer has it 0 times"},
		{"empty", "", "", "no JSON object"},
		{"a refusal", "I cannot judge this.", "", "no JSON object"},
	} {
		v, asked := answered(t, "repairs=0,rubric="+file, x.text)
		whole := x.want == "0.5 1 0.25"
		if x.want == "" {
			if x.want = "- - -"; x.says == "" && v.Failure == "" {
				x.says = "a failure"
			}
		}
		if shown(v) != x.want || (v.Failure == "") != whole || asked != 1 || !strings.Contains(v.Error, x.says) {
			t.Errorf("%s became %s, %.300v", x.name, shown(v), v)
		}
		if whole && math.Abs(v.Reward-(0.5+1+0.75)/3) > 1e-12 {
			t.Errorf("%s: the total is %v", x.name, v.Reward)
		}
		for i, p := range v.Parts {
			if p.Value == nil && (p.Failure != outcomes.RewardAnswer || p.Error == "") {
				t.Errorf("%s: part %d is %+v", x.name, i, p)
			}
		}
		if x.name == "a score of null with a reason" && v.Parts[2].Reason != "cannot tell" {
			t.Errorf("its reason is lost: %+v", v.Parts[2])
		}
		if v, asked = answered(t, "rubric="+file, x.text, good); shown(v) != "0.5 1 0.25" || asked != map[bool]int64{true: 1, false: 2}[whole] {
			t.Errorf("%s, sent back, became %s after %d questions", x.name, shown(v), asked)
		}
	}
	// An unknown item is sent back; what is said of the others stands.
	odd := "{" + a + "," + b + "," + c + `,"kind":{"score":1}}`
	if v, asked := answered(t, "rubric="+file, odd); shown(v) != "0.5 1 0.25" || v.Failure != "" || asked != 2 {
		t.Errorf("an unknown item: %s after %d questions", shown(v), asked)
	}
	// Of two odd answers the last counts, unless it is no object, and nothing is put together.
	if v, _ := answered(t, "rubric="+file, "{"+a+","+b+"}", "{"+c+"}"); shown(v) != "- - 0.25" || v.Failure != outcomes.RewardAnswer {
		t.Errorf("two answers: %s", shown(v))
	}
	if v, _ := answered(t, "rubric="+file, "{"+a+","+b+"}", "I give up"); shown(v) != "0.5 1 -" || v.Failure != outcomes.RewardAnswer {
		t.Errorf("an answer, and none: %s", shown(v))
	}
	if v, _ := answered(t, "outside=clamp,rubric="+file, strings.Replace(good, "0.25", "7", 1)); shown(v) != "0.5 1 1" {
		t.Errorf("clamped: %s", shown(v))
	}
}

// TestTotalsByHand: the weighted mean of what counts, on any scale.
func TestTotalsByHand(t *testing.T) {
	const scores = `{"a":{"score":%v},"b":{"score":%v},"c":{"score":%v}}`
	for _, x := range []struct {
		items     []string
		arguments string
		scores    [3]float64
		want      float64
		reason    string
	}{
		{[]string{"name: a, text: x", "name: b, text: x", "name: c, text: x"}, "", [3]float64{0.2, 0.4, 0.9}, 0.5, ""},
		{[]string{"name: a, text: x, weight: 2", "name: b, text: x, weight: 0.5", "name: c, text: x, weight: 0"}, "", [3]float64{0.75, 0.25, 1}, 1.625 / 2.5, ""},
		{[]string{"name: a, text: x", "name: b, text: x, weight: 3, polarity: negative", "name: c, text: x, polarity: positive"}, "", [3]float64{1, 0.25, 0}, 3.25 / 5, ""},
		{[]string{"name: a, text: x", "name: b, text: x, must-have: true", "name: c, text: x"}, "", [3]float64{1, 0.5, 0}, 0.5, ""},
		{[]string{"name: a, text: x", "name: b, text: x, must-have: true", "name: c, text: x"}, "", [3]float64{1, 0.4999, 1}, 0, `must-have "b" failed`},
		{[]string{"name: a, text: x, weight: 0, must-have: true", "name: b, text: x", "name: c, text: x"}, "", [3]float64{0, 1, 1}, 0, `must-have "a" failed`},
		{[]string{"name: a, text: x", "name: b, text: x", "name: c, text: x, polarity: negative, must-have: true"}, "", [3]float64{1, 1, 0.75}, 0, `must-have "c" failed`},
		{[]string{"name: a, text: x", "name: b, text: x", "name: c, text: x, polarity: negative, must-have: true"}, "", [3]float64{1, 1, 0.25}, 2.75 / 3, ""},
		{[]string{"name: a, text: x", "name: b, text: x, polarity: negative", "name: c, text: x, weight: 2"}, ",min=1,max=5", [3]float64{1, 2, 5}, (0 + 0.75 + 2) / 4, ""},
	} {
		v, _ := answered(t, "rubric="+rubricOf(t, x.items...)+x.arguments, fmt.Sprintf(scores, x.scores[0], x.scores[1], x.scores[2]))
		if v.Failure != "" || math.Abs(v.Reward-x.want) > 1e-12 || v.Reason != x.reason {
			t.Errorf("%v of %q: %+v, want %v", x.scores, x.items, v, x.want)
		}
	}
	// A must-have that failed does not decide what is not known.
	file := rubricOf(t, "name: a, text: x, must-have: true", "name: b, text: x")
	if v, _ := answered(t, "rubric="+file, `{"a":{"score":0}}`); v.Failure == "" || v.Reason != "" || shown(v) != "0 -" {
		t.Errorf("%+v", v)
	}
}

// TestPropertiesOfTotals: within 0 and 1, the same for a fault at 1-x as for its opposite at x, and 0 just
// where a must-have is below half.
func TestPropertiesOfTotals(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 51))
	failed := 0
	for range 60 {
		var plain, flipped []string
		var one, other []string
		lost := false
		for k := range 2 + r.IntN(4) {
			weight, x, must := float64(1+r.IntN(8))/4, float64(r.IntN(65))/64, r.IntN(5) == 0
			lost = lost || must && x < 0.5
			plain = append(plain, fmt.Sprintf("name: i%d, text: x, weight: %v, must-have: %t", k, weight, must))
			flipped = append(flipped, plain[k]+", polarity: negative")
			one = append(one, fmt.Sprintf(`"i%d":{"score":%v}`, k, x))
			other = append(other, fmt.Sprintf(`"i%d":{"score":%v}`, k, 1-x))
		}
		a, _ := answered(t, "rubric="+rubricOf(t, plain...), "{"+strings.Join(one, ",")+"}")
		b, _ := answered(t, "rubric="+rubricOf(t, flipped...), "{"+strings.Join(other, ",")+"}")
		if a.Failure != "" || math.Abs(a.Reward-b.Reward) > 1e-12 || !(a.Reward >= 0 && a.Reward <= 1) || lost && a.Reward != 0 || lost != (a.Reason != "") {
			t.Errorf("%q with %q: %+v and %+v", plain, one, a, b)
		}
		if lost {
			failed++
		}
	}
	if failed == 0 || failed == 60 {
		t.Errorf("%d must-haves failed", failed)
	}
}

// TestAnswersAreStoredByItem: with a call for each, another text asks about one item again; weights ask nothing.
func TestAnswersAreStoredByItem(t *testing.T) {
	rows := int64(len(rewardtest.Rows()))
	before := []string{"name: a, text: A.", "name: b, text: B.", "name: c, text: C."}
	for calls, want := range map[string][4]int64{"one": {1, 1, 0, 1}, "each": {3, 1, 0, 1}} {
		s := judgetest.New(t)
		j := s.Judging(ask)
		for i, items := range [][]string{
			before,
			{before[0], "name: b, text: It is B.", before[2]},
			{before[0] + ", must-have: true", before[1] + ", polarity: negative", before[2] + ", weight: 5"},
			append(before, "name: d, text: D."),
		} {
			asked := s.Asked.Load()
			r := made(t, j, 1, "model=m,calls="+calls+",rubric="+rubricOf(t, items...))
			rewardtest.Score(t, r, rewardtest.Rows())
			if n := s.Asked.Load() - asked; n != want[i]*rows {
				t.Errorf("calls=%s: rubric %d asked %d times about %d rows, want %d for each", calls, i, n, rows, want[i])
			}
			if d := r.Describe(); len(d.Files) != 1 || len(d.Parts) != len(items) {
				t.Errorf("%+v", d)
			}
		}
	}
}

// TestRepeatsOfItems: each item has its own majority and its own spread.
func TestRepeatsOfItems(t *testing.T) {
	file := rubricOf(t, "name: a, text: A.", "name: b, text: B.")
	say := func(a, b string) string {
		return fmt.Sprintf(`{"a":{"reason":"of %[1]s","score":%[1]s},"b":{"score":%[2]s}}`, a, b)
	}
	for want, texts := range map[string][]string{
		"0.4 0.5": {say("0.2", "0.5"), say("0.4", "0.5"), say("0.6", "0.5")},
		"0.4 -":   {say("0.2", "0.5"), say("0.4", "null"), say("0.6", "null")},
		"0.3 0.6": {say("0.2", "0.5"), say("0.4", "0.7"), "no idea"},
		"- 0.5":   {say("0.1", "0.5"), say("0.5", "0.5"), say("0.9", "0.5")},
	} {
		v, _ := answered(t, "repairs=0,repeats=3,agree=0.5,rubric="+file, texts...)
		if shown(v) != want || (v.Failure != "") != strings.Contains(want, "-") || want[0] == '0' && !strings.HasPrefix(v.Parts[0].Reason, "of 0.2") {
			t.Errorf("%s: %+v", want, v)
		}
	}
}

// TestItemsAreAskedForByASchema that has all of them, in a call for each just one.
func TestItemsAreAskedForByASchema(t *testing.T) {
	file := rubricOf(t, "name: a, text: Is it kind?", "name: b, text: Is it short?")
	for calls, want := range map[string]int{"one": 2, "each": 1} {
		s := judgetest.New(t)
		s.Answer = func(r judgetest.Request, say string) (int, string) {
			schema := string(r.Format.Schema.Schema)
			if items := r.Items(); len(items) != want || !r.Format.Schema.Strict || strings.Count(schema, `"score":{"type":"number"}`) != want ||
				!strings.Contains(schema, `"`+items[0]+`"`) || strings.Contains(r.Messages[0].Content, "Is it kind?") != strings.Contains(schema, `"a"`) {
				t.Errorf("calls=%s: %s with %s", calls, r.Messages[0].Content, schema)
			}
			return 200, say
		}
		if v := rewardtest.Score(t, made(t, s.Judging(ask), 0, "model=m,calls="+calls+",rubric="+file), rewardtest.Rows()[:1])[0]; v.Failure != "" ||
			v.Parts[1].Reason != "as b" {
			t.Errorf("%+v", v)
		}
	}
}

// TestItemFilesAreChecked: an error names the line, and says what to write.
func TestItemFilesAreChecked(t *testing.T) {
	for data, want := range map[string]string{
		"":                      `no documents`,
		"items: []":             `one with a weight above 0`,
		"items: 3":              `line 1: cannot construct !!int`,
		"- name: a":             `line 1: cannot construct !!seq`,
		"itens:\n  - {name: a}": `it needs items`,
		"items:\n  - {name: a, text: x}\nmore: []": `and nothing else`,
		"items:\n  - a":                                          `line 2: cannot construct`,
		"items:\n  - {text: x}":                                  `item 1: the name ""`,
		"items:\n  - {name: a}":                                  `item 1: there is no text`,
		"items:\n  - {name: a b, text: x}":                       `item 1: the name "a b"`,
		"items:\n  - {name: a, text: ''}":                        `item 1: there is no text`,
		"items:\n  - {name: a, text: ~}":                         `item 1: text has no value`,
		"items:\n  - {name: a, text: [x]}":                       `cannot construct !!seq`,
		"items:\n  - name: a\n    text: x\n    weigth: 2":        `item 1: unknown key "weigth"`,
		"items:\n  - name: a\n    text: x\n    text: y":          `line 4: mapping key "text" already defined`,
		"items:\n  - {name: a, text: x, weight: -1}":             `item 1: the weight is -1`,
		"items:\n  - {name: a, text: x, weight: .nan}":           `the weight is NaN`,
		"items:\n  - {name: a, text: x, weight: .inf}":           `the weight is +Inf`,
		"items:\n  - {name: a, text: x, weight: '2'}":            `line 2: cannot construct !!str ` + "`2`",
		"items:\n  - {name: a, text: x, weight: }":               `weight has no value`,
		"items:\n  - {name: a, text: x, weight: true}":           `line 2: cannot construct !!bool`,
		"items:\n  - {name: a, text: x, weight: 0}":              `one with a weight above 0`,
		"items:\n  - {name: a, text: x, must-have: 1}":           `line 2: cannot construct !!int`,
		"items:\n  - {name: a, text: x, must-have: ~}":           `must-have has no value`,
		"items:\n  - {name: a, text: x, must-have: 'true'}":      `line 2: cannot construct !!str`,
		"items:\n  - {Name: a, text: x}":                         `item 1: unknown key "Name"`,
		"items:\n  - {name: a, text: x, polarity: }":             `polarity has no value`,
		"items:\n  - {name: a, text: x, polarity: minus}":        `the polarity "minus"`,
		"items:\n  - {name: a, text: x}\n  - {name: a, text: y}": `item 2: the name "a" is another's`,
		"items: {":                `L2.C1`,
		"items: []\n---\nitems: ": `found multiple`,
		laughs(9):                 `yaml`,
	} {
		name := filepath.Join(t.TempDir(), "items.YML")
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := judge.Kind.Make("model=m,rubric="+name, score.Setup{Judging: judgetest.New(t).Judging(ask)})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "items.YML") || fault.HintOf(err) == "" {
			t.Errorf("%q: %v", data, err)
		}
		if strings.Contains(data, "weigth") && fault.HintOf(err) != `did you mean "weight"?` {
			t.Errorf("hint %q", fault.HintOf(err))
		}
	}
	file := rubricOf(t, "name: a, text: x")
	j := judgetest.New(t).Judging(ask)
	for arguments, want := range map[string]string{"rubric=" + file + ",calls=two": "calls=two", "calls=each": "rubric of items", "rubric=" + file + ",text=x": "both given",
		"rubric=" + file + ",min=-1e308,max=1e308": "not a range"} {
		if _, err := judge.Kind.Make("model=m,"+arguments, score.Setup{Judging: j}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", arguments, err)
		}
	}
	if _, err := judge.Ruler.Make("model=m,rubric="+file, score.Setup{Judging: j}); err == nil || !strings.Contains(err.Error(), "is for judge") {
		t.Error(err)
	}
}

// laughs returns a file whose aliases name lists of ten of the list before.
func laughs(n int) string {
	out := "a0: &a0 [{name: a}]\n"
	for k := range n {
		out += fmt.Sprintf("a%d: &a%d [%s]\n", k+1, k+1, strings.Repeat(fmt.Sprintf("*a%d, ", k), 10))
	}
	return out + fmt.Sprintf("items: *a%d\n", n)
}
