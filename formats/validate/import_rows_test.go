package validate

import (
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/outcomes"
)

func TestNothing(t *testing.T) {
	r := reported(t, nil)
	for _, u := range r.Uses {
		if u.Verdict != impossible || u.Of != 0 {
			t.Errorf("%+v", u)
		}
	}
	if len(r.Findings) > 0 || r.Rows != 0 || r.FileCount != 0 {
		t.Errorf("%+v", r)
	}
	if got := string(text(t, r)); !strings.HasPrefix(got, "0 rows in 0 groups, 0 files\n") {
		t.Error(got)
	}
}

// TestDamagedRows checks that indexes that lead nowhere do no harm.
func TestDamagedRows(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var rows []sourceRow
	for range 5000 {
		r := sound()[0]
		for range rnd.IntN(6) {
			again(r.T)
		}
		for i := range r.T.Messages {
			m := &r.T.Messages[i]
			if rnd.IntN(2) == 0 {
				m.Parent, m.Call, m.Sampled = int32(rnd.IntN(9)-2), int32(rnd.IntN(5)-2), rnd.IntN(2) == 0
			}
		}
		r.T.Calls[0].Tools = int32(rnd.IntN(5) - 2)
		r.T.ToolSets[0] = [...]string{"", "{}", "[]", "[1]", `[{"function":null}]`, "["}[rnd.IntN(6)]
		rows = append(rows, r)
	}
	explained(t, reported(t, rows))
}

// TestReportsAreRepeatable checks that a report changes nothing.
func TestReportsAreRepeatable(t *testing.T) {
	l, rows := inMemory(), sound()
	for _, r := range append(rows, rows[0]) {
		if err := l.Add(r.Group, r.Source, r.T); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if r, err := l.Report(); err != nil || len(r.Findings) != 3 {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// TestPlacesAreTheFirst checks the places of findings whose groups come in
// another order than that of their hashes.
func TestPlacesAreTheFirst(t *testing.T) {
	var rows []sourceRow
	for i := range 500 {
		r := sound()[0]
		r.Group, r.ID, r.Line = sprint("g", int64(i)), sprint("", int64(i)), int64(i+1)
		if r.T.Status = outcomes.StatusTruncated; i < 7 {
			r.T.Status = outcomes.StatusOK
		}
		rows = append(rows, r)
	}
	for _, f := range reported(t, rows).Findings {
		want := map[string]int64{"truncated": 8, "singleton": 1}[f.Name]
		for i, p := range f.First {
			if p.Line != want+int64(i) || len(f.First) != MaxPlaces {
				t.Errorf("%s is at %v", f.Name, f.First)
				break
			}
		}
	}
}

// TestRunsOfAGroup checks groups whose rows are partly adjacent, and many.
func TestRunsOfAGroup(t *testing.T) {
	var rows []sourceRow
	for i := range int64(10 * maxRun) {
		r := sound()[0]
		r.Group, r.ID = sprint("g", i/(3*maxRun)%2), sprint("", i%200)
		r.T.Messages[2].Content = sprint("", i)
		rows = append(rows, r)
	}
	got := reported(t, rows)
	counts := map[string]int64{}
	for _, f := range got.Findings {
		counts[f.Name] = f.Count
	}
	if want := map[string]int64{"duplicate_ids": 10*maxRun - 200, "flat": 2}; got.Groups != 2 || !maps.Equal(counts, want) {
		t.Errorf("%d groups, %v, want %v", got.Groups, counts, want)
	}
}

func TestGroupsOverFiles(t *testing.T) {
	rows := sound()
	rows[1].File, rows[1].T.Reward = "b.jsonl", rows[0].T.Reward
	r := reported(t, rows)
	if f := r.Findings[0]; r.FileCount != 2 || r.Groups != 1 || f.Count != 1 || f.Rows != 2 || f.First[0].File != "a.jsonl" || r.Uses[0].Verdict != impossible {
		t.Errorf("%+v", r)
	}
}

func TestPlacesWithoutLines(t *testing.T) {
	rows := sound()[:1]
	rows[0].Line, rows[0].Record = 0, 12
	if p := reported(t, rows).Findings[0].First[0]; p.String() != "a.jsonl record 12" {
		t.Error(p)
	}
}

// TestToolCallsOfManySets checks tools when more sets are used than remembered.
func TestToolCallsOfManySets(t *testing.T) {
	l := inMemory()
	for i := range 2 * maxDefinitions {
		r := sound()[0]
		name := sprint("tool", int64(i))
		r.T.ToolSets[0] = `[{"name":"` + name + `"}]`
		r.T.Messages[2].ToolCalls[0].Name = name
		if err := l.Add(r.Group, r.Source, r.T); err != nil {
			t.Fatal(err)
		}
	}
	r, err := l.Report()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Name == "undefined_tool" {
			t.Errorf("%+v", f)
		}
	}
	c := newUndefinedTool().(*undefinedTool)
	for i := range 2 * maxDefinitions {
		c.names(sprint("[] ", int64(i)))
	}
	if n := len(c.known); n > maxDefinitions {
		t.Errorf("%d sets are remembered", n)
	}
}
