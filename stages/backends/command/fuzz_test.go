package command

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/stages/backends"
)

// FuzzAnswer: whatever a program says, its outcome can be kept as JSON, and
// little of it is kept.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{`{"metrics":{"loss":1e308}}` + "\n" + `{"metrics":{"loss":1e308}}` + "\n" + `{"metrics":{"loss":-1.7e308}}`, `null`,
		`{"metrics":null,"state":"canceled"}`,
		`{"metrics":[1],"job":"\u0000"}`, `{"state":"failed","clean":true}`, `{"metrics":{"a":{"b":1},"\ud800":2}}`, "{}\n\n[]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var a Answer
		_ = a.read(nil, strings.NewReader(text), func(backends.JobEvent) {})
		if _, err := json.Marshal(a.outcome(backends.TrainerState{})); err != nil {
			t.Error(err)
		}
		if len(a.counts) > maxMetrics || a.kept > maxKept {
			t.Errorf("%d names, %d bytes", len(a.counts), a.kept)
		}
	})
}
