package rules_test

import (
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

// on returns the settings of a rule that a switch asks for.
func on(k curate.RuleKind) curate.RuleSettings {
	s := k.New().(*rules.Switch)
	s.On = true
	return s
}

func TestImages(t *testing.T) {
	ruletest.Run(t, rules.Images, on(rules.Images), curate.CompatNone)
}

// TestBeforeATokenThatTrains: only what the policy saw counts, and tokens need
// not be known.
func TestBeforeATokenThatTrains(t *testing.T) {
	row := func(target bool, parts ...string) curate.Row {
		r := &formats.Trajectory{Calls: []formats.Call{{Target: target}}}
		for i, p := range parts {
			r.Messages = append(r.Messages, formats.Message{Parent: int32(i - 1), Role: "user", Sampled: i%2 == 1, ContentParts: p})
		}
		return curate.Row{Member: &formats.Member{}, Trajectory: r}
	}
	const image = `[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"u"}}]`
	rows := []curate.Row{
		row(true, `[{"type":"text","text":"a"}]`, ""),
		row(true, image, ""),
		row(true, "", "", image),
		row(true, "", "", image, ""),
		row(true, `[{"type":"input_audio","input_audio":{}}]`, ""),
		row(true, `[{"type":"file","file":{}}]`, ""),
		row(true, `[{"type":"video_url","video_url":{}}]`, ""),
		row(false, image, ""), // nothing trains
	}
	rule, err := on(rules.Images).Rule(curate.Setup{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"",
		"message 0 has a part of type image_url, which token ids do not hold",
		"",
		"message 2 has a part of type image_url, which token ids do not hold",
		"message 0 has a part of type input_audio, which token ids do not hold",
		"message 0 has a part of type file, which token ids do not hold",
		"message 0 has a part of type video_url, which token ids do not hold",
		"",
	}
	for i, v := range rule.Rows(curate.Batch{}, curate.Group{}, rows) {
		if v.Detail != want[i] || (v.Reason == "images") != (want[i] != "") {
			t.Errorf("row %d: %v, want %q", i, v, want[i])
		}
	}
}
