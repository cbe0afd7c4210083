package callstest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/pipelines/convert/calls"
)

// Joined is a conversation that package calls made.
type Joined struct {
	Row   formats.Trajectory
	Class string
	Gap   bool
}

// Join joins the calls of a log with package calls. sessions names the attempt of each.
func Join(ctx context.Context, log []*Logged, sessions bool, o calls.Options) (out []Joined, counts calls.Counts, err error) {
	j := calls.NewJoiner(o)
	defer j.Close() // nothing in it is needed any more
	for i, l := range log {
		row := l.Row
		row.Messages, row.Calls = slices.Clone(row.Messages), slices.Clone(row.Calls)
		by := ""
		if sessions {
			by = l.Attempt
		}
		c, err := calls.New(importers.Item{Row: row}, by, validate.Source{File: "log", Line: int64(i)})
		if err != nil {
			return nil, counts, fmt.Errorf("%s: %w", l.Mark(), err)
		}
		if err := j.Add(c); err != nil {
			return nil, counts, err
		}
	}
	for c, err := range j.Conversations(ctx) {
		if err != nil {
			return nil, counts, err
		}
		item, _, err := c.Item()
		if err != nil {
			return nil, counts, err
		}
		out = append(out, Joined{item.Row, c.Class, c.Gap})
	}
	return out, j.Counts(), nil
}

// CheckSessions returns what is wrong with a log that was joined with the attempt of each call: every
// attempt must be the tree that the recorder wrote. Only one in which the agent wrote an answer of its
// own, to a prompt that it did not ask, looks as if a call was missing, and may be several.
func CheckSessions(recorded []*Recorded, got []Joined) (wrong []string) {
	by := map[string]*formats.Trajectory{}
	lacks := map[string]bool{}
	for i := range got {
		attempt, _, _ := strings.Cut(marks(&got[i].Row)[0], "#")
		lacks[attempt] = lacks[attempt] || got[i].Gap
	}
	for i := range got {
		attempt, _, _ := strings.Cut(marks(&got[i].Row)[0], "#")
		if by[attempt] != nil && !lacks[attempt] {
			wrong = append(wrong, attempt+" is several trees")
		}
		if by[attempt] = &got[i].Row; got[i].Class != "" {
			wrong = append(wrong, fmt.Sprintf("%s is %s", attempt, got[i].Class))
		}
	}
	for _, r := range recorded {
		if seemsLate(r) {
			continue
		}
		strict, loose := lacksCalls(r, false), lacksCalls(r, true)
		if strict == loose && strict != lacks[r.Attempt] {
			wrong = append(wrong, fmt.Sprintf("%s lacks calls: %v, want %v", r.Attempt, lacks[r.Attempt], strict))
		}
		if strict || loose {
			continue
		}
		if by[r.Attempt] == nil {
			wrong = append(wrong, r.Attempt+" is missing")
		} else if d := Difference(by[r.Attempt], &r.Row); d != "" {
			wrong = append(wrong, explained(r.Attempt, d, by[r.Attempt], &r.Row))
		}
	}
	return wrong
}

func explained(what, d string, got, want *formats.Trajectory) string {
	return fmt.Sprintf("%s: %s\njoined:\n%sexpected:\n%s", what, d, Outline(got), Outline(want))
}

// Check returns what is wrong with a log that was joined without attempts, given what is expected if
// answers are distinguished by all that they have, and if they are not. Where both say the same, and no call
// goes on with another answer, that must be; else only the calls that may be ambiguous may be so.
func Check(strict, loose []*Expected, got []Joined, train bool) (wrong []string) {
	by, certain, may := map[string]*Joined{}, map[string]*Expected{}, map[string]bool{}
	for i := range got {
		by[strings.Join(sorted(marks(&got[i].Row)), " ")] = &got[i]
	}
	for _, e := range loose {
		certain[e.name()] = e
		may[e.name()] = e.Ambiguous
	}
	for _, e := range strict {
		may[e.name()] = may[e.name()] || e.Ambiguous
	}
	todo := map[string]int{}
	for _, e := range strict {
		name := e.name()
		if other := certain[name]; other == nil || other.Ambiguous != e.Ambiguous || other.Gap != e.Gap || e.unclear() {
			for _, l := range e.Calls {
				todo[l.Mark()]++
			}
			continue
		}
		g := by[name]
		if delete(by, name); g == nil {
			wrong = append(wrong, fmt.Sprintf("[%s] is no conversation", name))
			continue
		}
		row := e.Row(train)
		switch {
		case e.Ambiguous != (g.Class == outcomes.FailAmbiguousMerge):
			wrong = append(wrong, fmt.Sprintf("[%s] is of class %q, ambiguous %v", name, g.Class, e.Ambiguous))
		case e.Gap != g.Gap:
			wrong = append(wrong, fmt.Sprintf("[%s] lacks calls: %v, want %v", name, g.Gap, e.Gap))
		case !e.Unsure: // else its calls' times are not those of one attempt
			if d := Difference(&g.Row, &row); d != "" {
				wrong = append(wrong, explained(name, d, &g.Row, &row))
			}
		}
	}
	for name, g := range by { // of calls of which it is not certain to which answer they belong
		for mark := range strings.FieldsSeq(name) {
			if todo[mark]--; todo[mark] < 0 {
				wrong = append(wrong, fmt.Sprintf("[%s] is a conversation, class %q", name, g.Class))
			}
		}
		if g.Class != "" && !may[name] {
			wrong = append(wrong, fmt.Sprintf("[%s] is of class %q", name, g.Class))
		}
	}
	for mark, n := range todo {
		if n > 0 {
			wrong = append(wrong, mark+" is lost")
		}
	}
	return sorted(wrong)
}

func (e *Expected) name() string {
	var all []string
	for _, l := range e.Calls {
		all = append(all, l.Mark())
	}
	return strings.Join(sorted(all), " ")
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

// marks returns the names of a row's calls.
func marks(t *formats.Trajectory) (out []string) {
	for _, c := range t.Calls {
		out = append(out, c.Function[strings.LastIndexByte(c.Function, '|')+1:])
	}
	return out
}
