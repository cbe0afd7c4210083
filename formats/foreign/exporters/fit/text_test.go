package fit_test

import (
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/exporters/fit"
)

// TestValidText finds bytes that are not UTF-8 in a text of any depth.
func TestValidText(t *testing.T) {
	row := func() *formats.Trajectory {
		return &formats.Trajectory{Status: "ok", ToolSets: []string{"", "[]"},
			Messages: []formats.Message{{}, {Role: "é", ToolCalls: []formats.ToolCall{{Name: "a"}}}}}
	}
	if !fit.ValidText(row()) {
		t.Error("a row of UTF-8 is refused")
	}
	for name, spoil := range map[string]func(*formats.Trajectory){
		"a column":       func(r *formats.Trajectory) { r.Answer = "\xff" },
		"a list":         func(r *formats.Trajectory) { r.ToolSets[1] = "\xff" },
		"a message":      func(r *formats.Trajectory) { r.Messages[1].Content = "a\xc3" },
		"a call in it":   func(r *formats.Trajectory) { r.Messages[1].ToolCalls[0].Name = "\xff" },
		"a named reward": func(r *formats.Trajectory) { r.Rewards = []formats.NamedReward{{Name: "\xff"}} },
	} {
		r := row()
		if spoil(r); fit.ValidText(r) {
			t.Errorf("%s may have other bytes", name)
		}
	}
}
