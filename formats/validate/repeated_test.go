package validate

import (
	"fmt"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/randomtest"
)

func TestDuplicateIDInAGroup(t *testing.T) {
	rows := randomtest.Group(3, 0, randomtest.Options{Generations: 4, SampledTokens: 40, PromptTokens: 20})
	find := func() int64 {
		c := newCopies()
		for i := range rows {
			r := WideRow(int64(i), &rows[i])
			c.Row(&r)
		}
		found := c.found(&Check{})
		if found == nil {
			return 0
		}
		return found[0].Count
	}
	if n := find(); n != 0 {
		t.Errorf("%d findings of sound rows", n)
	}
	if rows[2].TrajectoryID = rows[0].TrajectoryID; find() != 1 {
		t.Errorf("%d findings, want 1", find())
	}
}

// The rows of a group are calls if they are chains, with gaps and branches too, or if the
// source says so; not if they are attempts that only begin alike.
func TestChained(t *testing.T) {
	row := func(metadata string, answers ...string) (t formats.Trajectory) {
		t.Metadata, t.Status = metadata, outcomes.StatusOK
		for i, answer := range answers {
			t.Messages = append(t.Messages, formats.Message{Parent: int32(2*i - 1), Role: "user", Content: "q"},
				formats.Message{Parent: int32(2 * i), Role: "assistant", Content: answer})
		}
		return t
	}
	branched := row("", "a", "b", "c")
	branched.Messages = append(branched.Messages, formats.Message{Parent: 3, Role: "user", Content: "other"},
		formats.Message{Parent: 6, Role: "assistant", Content: "d"})
	numbered := func(name string, n int) string { return fmt.Sprintf(`{%q:%d}`, name, n) }
	for name, c := range map[string]struct {
		rows []formats.Trajectory
		want bool
	}{
		"chain":                    {[]formats.Trajectory{row("", "a"), row("", "a", "b"), row("", "a", "b", "c")}, true},
		"gaps":                     {[]formats.Trajectory{row("", "a"), row("", "a", "b", "c"), row("", "a", "b", "c", "d", "e")}, true},
		"a branched row":           {[]formats.Trajectory{row("", "a"), row("", "a", "b"), branched}, true},
		"few of many":              {append([]formats.Trajectory{row("", "a"), row("", "a", "b"), row("", "a", "b", "c")}, many(row)...), false},
		"a pair":                   {[]formats.Trajectory{row("", "a"), row("", "a", "b")}, false},
		"siblings":                 {[]formats.Trajectory{row("", "a", "b"), row("", "a", "c"), row("", "a", "d"), row("", "a", "e")}, false},
		"copies":                   {[]formats.Trajectory{row("", "a"), row("", "a"), row("", "a")}, false},
		"a numbered pair":          {[]formats.Trajectory{row(numbered("call_index", 0), "a"), row(numbered("call_index", 1), "a", "b")}, true},
		"numbered attempts":        {[]formats.Trajectory{row(numbered("episode", 3), "a"), row(numbered("episode", 9), "x", "b")}, false},
		"a step of training":       {[]formats.Trajectory{row(numbered("step", 1), "a"), row(numbered("step", 2), "b"), row(numbered("step", 3), "c")}, false},
		"calls without history":    {[]formats.Trajectory{row(`{"trial_name":"t","turn":0}`, "a"), row(`{"trial_name":"t","turn":1}`, "b")}, true},
		"one call of each attempt": {[]formats.Trajectory{row(`{"trial_name":"t","turn":0}`, "a"), row(`{"trial_name":"u","turn":1}`, "b")}, false},
	} {
		var all []turns
		for i := range c.rows {
			r := WideRow(0, &c.rows[i])
			all = append(all, r.turns())
		}
		if got := chained(all); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func many(row func(string, ...string) formats.Trajectory) (out []formats.Trajectory) {
	for i := range 10 {
		out = append(out, row("", fmt.Sprint(i)))
	}
	return out
}
