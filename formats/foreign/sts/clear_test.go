package sts

import (
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/foreign/importers"
)

// TestClearEndsTheContext: what follows the command has nothing of what was before it.
func TestClearEndsTheContext(t *testing.T) {
	line := func(kind, uuid, parent, message string) string {
		return `{"type":"` + kind + `","uuid":"` + uuid + `","parentUuid":` + parent + `,"sessionId":"s","message":` + message + "}\n"
	}
	say := func(id, text string) string {
		return `{"id":"` + id + `","role":"assistant","model":"m","content":[{"type":"text","text":"` + text + `"}]}`
	}
	data := line("user", "1", "null", `{"role":"user","content":"First"}`) + line("assistant", "2", `"1"`, say("a", "one")) +
		line("user", "3", `"2"`, `{"role":"user","content":"<command-name>/clear</command-name>\n<command-message>clear</command-message>"}`) +
		line("user", "4", `"3"`, `{"role":"user","content":"<local-command-stdout></local-command-stdout>"}`) +
		line("user", "5", `"4"`, `{"role":"user","content":"Second"}`) + line("assistant", "6", `"5"`, say("b", "two"))
	items, err := parse(&importers.Record{Data: []byte(data)})
	if err != nil {
		t.Fatal(err)
	}
	row := &items[0].Row
	var path []string
	for _, i := range row.Main() {
		path = append(path, row.Messages[i].Content)
	}
	if got := strings.Join(path, " "); got != "Second two" || len(row.Messages) != 4 || row.Messages[2].Branch != importers.BranchHistory {
		t.Errorf("%q of %+v", got, row.Messages)
	}
}
