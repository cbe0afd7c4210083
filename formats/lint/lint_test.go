package lint

import (
	"bytes"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
)

func ptr[T any](v T) *T { return &v }

// sound returns a group of two rows without any finding.
func sound() []Row {
	rows := make([]Row, 2)
	for i := range rows {
		answer := formats.Message{Parent: 1, Role: "assistant", Content: strings.Repeat("so ", i+1), Sampled: true,
			ToolCalls: []formats.ToolCall{{ID: "c", Name: "search", Arguments: `{"q":"x"}`}},
			TokenIDs:  []int32{1, 2}, Logprobs: []float32{-1, -2}, PromptDeltaIDs: []int32{7}}
		rows[i] = Row{File: "a.jsonl", Line: int64(i) + 1, Record: int64(i), SourceID: string(rune('a' + i)), Group: "g", T: &formats.Trajectory{
			Status: formats.StatusOK, Model: "m", PolicyVersion: ptr(int64(3)), Reward: ptr(float64(i)),
			Messages: []formats.Message{{Parent: -1, Role: "system", Content: "be short", Call: -1}, {Role: "user", Content: "why?", Call: -1}, answer},
			Calls:    []formats.Call{{Target: true}}, ToolSets: []string{`[{"type":"function","function":{"name":"search"}}]`},
		}}
	}
	return rows
}

// add adds a message after the last one.
func add(t *formats.Trajectory, m formats.Message) *formats.Message {
	m.Parent = int32(len(t.Messages) - 1)
	if !m.Sampled {
		m.Call = -1
	}
	t.Messages = append(t.Messages, m)
	return &t.Messages[len(t.Messages)-1]
}

// again adds another answer like the first one.
func again(t *formats.Trajectory) *formats.Message {
	add(t, formats.Message{Role: "tool", Content: "found", ToolCallID: "c"})
	m := t.Messages[2]
	m.ToolCalls = nil
	return add(t, m)
}

// records are a sorter in memory.
type records []Record

func inMemory() Sorter { return &records{} }

func (s *records) Add(key, value []byte) error {
	*s = append(*s, Record{bytes.Clone(key), bytes.Clone(value)})
	return nil
}

func (s *records) Sorted() iter.Seq2[Record, error] {
	slices.SortFunc(*s, func(a, b Record) int { return bytes.Compare(a.Key, b.Key) })
	return func(yield func(Record, error) bool) {
		for _, r := range *s {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (s *records) Close() error { return nil }

func reported(t *testing.T, rows []Row) Report {
	t.Helper()
	l := New(inMemory)
	for _, r := range rows {
		if err := l.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	r, err := l.Report()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// spoiled are changes of the first row or of all, and what is found then.
var spoiled = []struct {
	name  string
	spoil func(rows []Row, t *formats.Trajectory) []Row
	want  string // findings and their counts
	block string // uses that are not possible for all rows, and for how many they are
}{
	{"nothing", func(rows []Row, t *formats.Trajectory) []Row { return rows }, "", ""},
	{"failed", func(rows []Row, t *formats.Trajectory) []Row {
		t.Status, t.Reward, t.Messages = formats.StatusFailed, nil, nil
		return rows
	}, "failed 1, groups-of-one 1", "dpo 0, grpo 0, judging 1, kto 1, sft 1, tokens 0, tool-rewards 1"},
	{"skipped", func(rows []Row, t *formats.Trajectory) []Row {
		for i := range rows {
			rows[i].T.Status, rows[i].T.Messages = formats.StatusSkipped, nil
		}
		return rows
	}, "failed 2", "dpo 0, grpo 0, judging 0, kto 0, sft 0, tokens 0, tool-rewards 0"},
	{"truncated", func(rows []Row, t *formats.Trajectory) []Row { t.Status = formats.StatusTruncated; return rows }, "truncated 1", ""},
	{"a prompt only", func(rows []Row, t *formats.Trajectory) []Row { t.Messages = t.Messages[:2]; return rows },
		"last-not-assistant 1, no-assistant 1, no-sampled 1, no-tool-calls 1", "dpo 1, grpo 1, judging 1, kto 1, sft 1, tokens 1, tool-rewards 1"},
	{"no messages", func(rows []Row, t *formats.Trajectory) []Row { t.Messages = nil; return rows },
		"no-assistant 1, no-sampled 1, no-system-prompt 1, no-tool-calls 1", "dpo 1, grpo 1, judging 1, kto 1, sft 1, tokens 1, tool-rewards 1"},
	{"an answer that does not train", func(rows []Row, t *formats.Trajectory) []Row { t.Calls[0].Target = false; return rows },
		"no-sampled 1", "dpo 1, grpo 1, kto 1, sft 1, tokens 1"},
	{"an empty answer", func(rows []Row, t *formats.Trajectory) []Row { again(t).Content = ""; return rows },
		"empty-answer 1, several-answers 1", "kto 1, sft 1"},
	{"no logprobs", func(rows []Row, t *formats.Trajectory) []Row { t.Messages[2].Logprobs = nil; return rows },
		"no-logprobs 1", "grpo 1, tokens 1"},
	{"some logprobs", func(rows []Row, t *formats.Trajectory) []Row { again(t).Logprobs = nil; return rows },
		"partial-logprobs 1, several-answers 1", "grpo 1, kto 1, tokens 1"},
	{"too few logprobs", func(rows []Row, t *formats.Trajectory) []Row { t.Messages[2].Logprobs = []float32{-1}; return rows },
		"logprob-count 1", "grpo 1, tokens 1"},
	{"placeholders", func(rows []Row, t *formats.Trajectory) []Row { t.Messages[2].Logprobs[1] = -9999; return rows },
		"logprob-placeholders 1", "grpo 1, tokens 1"},
	{"no token ids", func(rows []Row, t *formats.Trajectory) []Row {
		t.Messages[2].TokenIDs, t.Messages[2].PromptDeltaIDs = nil, nil
		return rows
	}, "no-token-ids 1", "tokens 1"},
	{"no prompt ids", func(rows []Row, t *formats.Trajectory) []Row { t.Messages[2].PromptDeltaIDs = nil; return rows },
		"no-prompt-ids 1", "tokens 1"},
	{"no reward", func(rows []Row, t *formats.Trajectory) []Row { t.Reward = nil; return rows },
		"groups-of-one 1, no-preferences 1, no-rewards 1", "dpo 0, grpo 0, kto 1, tokens 0"},
	{"no rewards", func(rows []Row, t *formats.Trajectory) []Row {
		t.Reward, rows[1].T.Reward = nil, ptr(math.NaN())
		return rows
	},
		"no-preferences 2, no-rewards 2", "dpo 0, grpo 0, kto 0, tokens 0"},
	{"a preference", func(rows []Row, t *formats.Trajectory) []Row {
		for i := range rows {
			rows[i].T.Reward, rows[i].Preferred, rows[i].SourceID = nil, ptr(i == 0), "both"
		}
		return rows
	}, "no-rewards 2", "grpo 0, tokens 0"},
	{"labels that agree", func(rows []Row, t *formats.Trajectory) []Row {
		for i := range rows {
			rows[i].T.Reward, rows[i].Preferred = nil, ptr(true)
		}
		return rows
	}, "flat-groups 1, no-rewards 2", "dpo 0, grpo 0, tokens 0"},
	{"scored candidates", func(rows []Row, t *formats.Trajectory) []Row {
		t.Reward, t.Candidates = nil, []formats.Candidate{{}, {Score: ptr(1.0)}, {Score: ptr(2.0)}}
		return rows
	}, "groups-of-one 1, no-rewards 1", "dpo 1, grpo 0, tokens 0"},
	{"a group of one", func(rows []Row, t *formats.Trajectory) []Row { return rows[:1] }, "groups-of-one 1", "dpo 0, grpo 0, tokens 0"},
	{"a flat group", func(rows []Row, t *formats.Trajectory) []Row { t.Reward = ptr(1.0); return rows }, "flat-groups 1", "dpo 0, grpo 0, tokens 0"},
	{"an id twice", func(rows []Row, t *formats.Trajectory) []Row { rows[1].SourceID = rows[0].SourceID; return rows }, "duplicate-ids 1", ""},
	{"no ids", func(rows []Row, t *formats.Trajectory) []Row {
		rows[0].SourceID, rows[1].SourceID = "", ""
		return rows
	}, "", ""},
	{"an answer twice", func(rows []Row, t *formats.Trajectory) []Row {
		t.Messages[2].Content, t.Messages[2].ToolCalls[0].ID = rows[1].T.Messages[2].Content, "other"
		return rows
	}, "duplicate-content 1", ""},
	{"an answer in two groups", func(rows []Row, t *formats.Trajectory) []Row {
		more := sound()
		for i := range more {
			more[i].Group, more[i].SourceID = "h", more[i].SourceID+"2"
		}
		return append(rows, more...)
	}, "", ""},
	{"a row twice", func(rows []Row, t *formats.Trajectory) []Row { return append(rows, rows[0]) },
		"copies 1, duplicate-content 1, duplicate-ids 1", "grpo 2, tokens 2"},
	{"an image", func(rows []Row, t *formats.Trajectory) []Row {
		t.Messages[1].Content, t.Messages[1].ContentParts = "", `[{"type":"image_url"}]`
		return rows
	}, "content-parts 1", "dpo 1, kto 1, sft 1"},
	{"branches", func(rows []Row, t *formats.Trajectory) []Row {
		t.Messages = append(t.Messages, t.Messages[2])
		return rows
	}, "branches 1, several-answers 1", "dpo 1, kto 1, sft 1"},
	{"an answer of somebody else", func(rows []Row, t *formats.Trajectory) []Row {
		m := again(t)
		m.Content, t.Messages[2].Sampled, t.Messages[2].Call = "yes", false, -1
		return rows
	}, "foreign-answers 1", "sft 1"},
	{"a dialogue", func(rows []Row, t *formats.Trajectory) []Row { again(t); return rows }, "several-answers 1", "kto 1"},
	{"a result at the end", func(rows []Row, t *formats.Trajectory) []Row {
		add(t, formats.Message{Role: "tool", Content: "found", ToolCallID: "c"})
		return rows
	}, "last-not-assistant 1", ""},
	{"a late system prompt", func(rows []Row, t *formats.Trajectory) []Row {
		t.Messages[0].Role, t.Messages[1].Role = "user", "developer"
		return rows
	}, "role-order 1", ""},
	{"an unknown role", func(rows []Row, t *formats.Trajectory) []Row { t.Messages[1].Role = "human"; return rows }, "role-order 1", ""},
	{"no system prompt", func(rows []Row, t *formats.Trajectory) []Row {
		t.Messages = t.Messages[1:]
		t.Messages[0].Parent, t.Messages[1].Parent = -1, 0
		return rows
	}, "no-system-prompt 1", ""},
	{"no tool calls", func(rows []Row, t *formats.Trajectory) []Row { t.Messages[2].ToolCalls = nil; return rows }, "no-tool-calls 1", "tool-rewards 1"},
	{"no definitions", func(rows []Row, t *formats.Trajectory) []Row { t.Calls[0].Tools = -1; return rows }, "no-tools 1", "tool-rewards 1"},
	{"a tool that is not defined", func(rows []Row, t *formats.Trajectory) []Row { t.Messages[2].ToolCalls[0].Name = "find"; return rows }, "undefined-tool 1", ""},
	{"short definitions", func(rows []Row, t *formats.Trajectory) []Row { t.ToolSets[0] = `[{"name":"search"}]`; return rows }, "", ""},
	{"no arguments", func(rows []Row, t *formats.Trajectory) []Row { t.Messages[2].ToolCalls[0].Arguments = ""; return rows },
		"bad-arguments 1", "tool-rewards 1"},
	{"an unanswered call", func(rows []Row, t *formats.Trajectory) []Row {
		add(t, formats.Message{Role: "user", Content: "and?"})
		m := t.Messages[2]
		m.ToolCalls = nil
		add(t, m)
		return rows
	}, "several-answers 1, unanswered-calls 1", "kto 1, sft 1, tool-rewards 1"},
	{"a result without its call", func(rows []Row, t *formats.Trajectory) []Row {
		again(t)
		t.Messages[3].ToolCallID = "d"
		return rows
	}, "result-without-call 1, several-answers 1", "dpo 1, grpo 1, kto 1, sft 1, tokens 1, tool-rewards 1"},
	{"no model", func(rows []Row, t *formats.Trajectory) []Row { t.Model = ""; return rows }, "no-model 1", ""},
	{"no version", func(rows []Row, t *formats.Trajectory) []Row { t.PolicyVersion = nil; return rows }, "no-policy-version 1", ""},
}

func TestEachFinding(t *testing.T) {
	found := map[string]bool{}
	for _, c := range spoiled {
		rows := sound()
		r := reported(t, c.spoil(rows, rows[0].T))
		var got, open []string
		for _, f := range r.Findings {
			got = append(got, sprint(f.Name, f.Count))
			found[f.Name] = true
			if len(f.First) == 0 || f.First[0].File != "a.jsonl" || f.First[0].Line == 0 {
				t.Errorf("%s: %s is at %v", c.name, f.Name, f.First)
			}
		}
		for _, u := range r.Uses {
			if u.Verdict != Possible {
				open = append(open, sprint(string(u.Use), u.Possible))
			}
		}
		slices.Sort(got)
		slices.Sort(open)
		if g := strings.Join(got, ", "); g != c.want {
			t.Errorf("%s: found %s\nwant %s", c.name, g, c.want)
		}
		if g := strings.Join(open, ", "); g != c.block {
			t.Errorf("%s: possible for %s\nwant %s", c.name, g, c.block)
		}
	}
	for _, c := range Checks() {
		if !found[c.Name] {
			t.Errorf("no test finds %s", c.Name)
		}
	}
}

func TestChecks(t *testing.T) {
	names := map[string]bool{}
	for i, c := range Checks() {
		if table[i].check != check(i) {
			t.Errorf("%s is at the place of another check", c.Name)
		}
		if names[c.Name] || c.What == "" || c.Help == "" || c.Severity == "" || c.Blocks == nil {
			t.Errorf("%+v", c)
		}
		names[c.Name] = true
	}
	if n := len(Uses()); n != useCount {
		t.Errorf("%d uses", n)
	}
	if want := []Use{GRPO, Tokens, DPO}; !slices.Equal(uses(grouped).list(), want) {
		t.Errorf("%v compare rows, want %v", uses(grouped).list(), want)
	}
}

func TestNothing(t *testing.T) {
	r := reported(t, nil)
	for _, u := range r.Uses {
		if u.Verdict != Impossible || u.Of != 0 {
			t.Errorf("%+v", u)
		}
	}
	if len(r.Findings) > 0 || r.Rows != 0 || len(r.Files) > 0 {
		t.Errorf("%+v", r)
	}
	if got := string(text(t, r)); !strings.HasPrefix(got, "0 rows in 0 groups, 0 files\n") {
		t.Error(got)
	}
}

// TestDamagedRows checks that indexes that lead nowhere do no harm.
func TestDamagedRows(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var rows []Row
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
	explained(t, reported(t, rows).Summary)
}

// TestReportsAreRepeatable checks that a report changes nothing.
func TestReportsAreRepeatable(t *testing.T) {
	l, rows := New(inMemory), sound()
	for _, r := range append(rows, rows[0]) {
		if err := l.Add(r); err != nil {
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
	var rows []Row
	for i := range 500 {
		r := sound()[0]
		r.Group, r.SourceID, r.Line = sprint("g", int64(i)), sprint("", int64(i)), int64(i+1)
		if r.T.Status = formats.StatusTruncated; i < 7 {
			r.T.Status = formats.StatusOK
		}
		rows = append(rows, r)
	}
	for _, f := range reported(t, rows).Findings {
		want := map[string]int64{"truncated": 8, "groups-of-one": 1}[f.Name]
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
	var rows []Row
	for i := range int64(10 * maxRun) {
		r := sound()[0]
		r.Group, r.SourceID = sprint("g", i/(3*maxRun)%2), sprint("", i%200)
		r.T.Messages[2].Content = sprint("", i)
		rows = append(rows, r)
	}
	got := reported(t, rows)
	counts := map[string]int64{}
	for _, f := range got.Findings {
		counts[f.Name] = f.Count
	}
	if want := map[string]int64{"duplicate-ids": 10*maxRun - 200, "flat-groups": 2}; got.Groups != 2 || !maps.Equal(counts, want) {
		t.Errorf("%d groups, %v, want %v", got.Groups, counts, want)
	}
}

func TestGroupsOverFiles(t *testing.T) {
	rows := sound()
	rows[1].File, rows[1].T.Reward = "b.jsonl", rows[0].T.Reward
	r := reported(t, rows)
	want := map[string][]int64{"a.jsonl": {1, 1, 1}, "b.jsonl": {0, 0, 1}}
	got := map[string][]int64{}
	for _, f := range r.Files {
		got[f.Name] = []int64{f.Groups, f.Findings[0].Count, f.Findings[0].Rows}
		if f.Uses[0].Verdict != Impossible {
			t.Errorf("%s: %+v", f.Name, f.Uses[0])
		}
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%v, want %v", got, want)
	}
	if text := string(text(t, r)); !strings.Contains(text, "b.jsonl\n  flat-groups: 1 row of groups that begin in other files\n") || !strings.Contains(text, "rows  groups begun  ") {
		t.Error(text)
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
	l := New(inMemory)
	for i := range 2 * maxDefinitions {
		r := sound()[0]
		name := sprint("tool", int64(i))
		r.T.ToolSets[0] = `[{"name":"` + name + `"}]`
		r.T.Messages[2].ToolCalls[0].Name = name
		if err := l.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	r, err := l.Report()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Name == "undefined-tool" {
			t.Errorf("%+v", f)
		}
	}
	if n := len(l.definitions); n > maxDefinitions {
		t.Errorf("%d sets are remembered", n)
	}
}
