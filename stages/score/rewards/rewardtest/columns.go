package rewardtest

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/score"
)

func (s Suite) columns(t *testing.T) {
	r := s.reward(t)
	d, want := r.Describe(), Score(t, r, Rows(s.Known...))
	less := Rows(s.Known...)
	for _, row := range less {
		if d.Columns != nil {
			dropColumns(row.Trajectory, d.Columns)
		}
		if d.Detail < score.Tokens {
			dropTokens(row.Trajectory)
		}
		if d.Detail < score.Head {
			row.Example = ""
		}
		if d.Detail < score.Text {
			row.Messages, row.Calls, row.ToolSets = nil, nil, nil
		}
	}
	if diff := cmp.Diff(want, Score(t, r, less)); diff != "" {
		t.Errorf("it reads columns that it does not declare (-all +declared):\n%s", diff)
	}
}

func dropTokens(t *formats.Trajectory) {
	for i := range t.Messages {
		m := &t.Messages[i]
		m.TokenIDs, m.Logprobs, m.PromptDeltaIDs, m.PrefixBreak = nil, nil, nil, ""
	}
}

// dropColumns empties those that a reward does not read.
func dropColumns(t *formats.Trajectory, read []string) {
	for _, f := range schema.FieldsOf(reflect.TypeFor[formats.Trajectory]()) {
		if slices.Contains(mayLack, f.Name) && !slices.Contains(read, f.Name) {
			f.In(reflect.ValueOf(t).Elem()).SetZero()
		}
	}
}

// mayLack are the columns of Light that a reward may leave unread.
var mayLack = []string{"run", "answer", "stop_reason", "failure_class", "model", "policy_version", "metadata",
	"prompt_tokens", "completion_tokens", "sampled_tokens"}
