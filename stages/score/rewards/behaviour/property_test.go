package behaviour_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
)

// planted is an attempt that a generator made, and what it planted.
type planted struct {
	*formats.Trajectory
	repeated, idle, noAnswer, noCheck, prompt, reference int
	outcomes                                             string // of results: 1 is an error
	length                                               int
	fields                                               map[int]string // of results, by message; in the metadata
	ids                                                  map[string]bool
}

func plant(r *rand.Rand) *planted {
	p := &planted{Trajectory: &formats.Trajectory{ToolSets: []string{"[]"}}, fields: map[int]string{}, ids: map[string]bool{}, noCheck: 1}
	prompt := fmt.Sprintf("Please, FIX the tests of module %d; they were green on Monday!", r.IntN(100))
	p.add(formats.Message{Role: "user", Content: prompt, Call: -1})
	tools := []string{`{"path":"é.go","line":1}`}
	for turn := range 1 + r.IntN(8) {
		m := formats.Message{Role: "assistant", Content: fmt.Sprintf("Step %d ü.", turn), Sampled: true}
		for range r.IntN(3) {
			arguments := fmt.Sprintf(`{"path":"é.go","line":%d}`, len(tools)+1)
			if again := r.IntN(3) == 0; again && len(tools) > 1 {
				p.repeated++
				arguments = strings.ReplaceAll(tools[1+r.IntN(len(tools)-1)], `:`, []string{":", " : ", ":\n"}[r.IntN(3)])
				if line, path, ok := strings.Cut(strings.Trim(arguments, "{}"), ","); ok && r.IntN(2) == 0 {
					arguments = "{" + path + ".0," + line + "}" // 1.0 is 1, and the keys have no order
				}
			} else {
				tools = append(tools, arguments)
			}
			m.ToolCalls = append(m.ToolCalls, formats.ToolCall{ID: fmt.Sprintf("%d-%d", turn, len(m.ToolCalls)), Name: "edit", Arguments: arguments})
		}
		switch r.IntN(4) {
		case 0:
			m.ToolCalls, p.noCheck = append(m.ToolCalls, formats.ToolCall{ID: fmt.Sprint(turn), Name: "sh", Arguments: fmt.Sprintf(`{"run":"go test -count=%d"}`, turn)}), 0
		case 1: // a change after a check
			m.ToolCalls, p.noCheck = append(m.ToolCalls, formats.ToolCall{ID: fmt.Sprint(turn), Name: "write", Arguments: strconv.Itoa(turn)}), 1
		}
		if len(m.ToolCalls) == 0 {
			p.idle++
		}
		p.say(m)
		for _, c := range m.ToolCalls {
			failed := r.IntN(2) == 0
			p.outcomes += map[bool]string{true: "1", false: "0"}[failed]
			at := p.add(formats.Message{Role: "tool", ToolCallID: c.ID, Call: -1})
			switch r.IntN(3) {
			case 0:
				p.fields[at] = fmt.Sprintf(`{"is_error":%t}`, failed)
			case 1:
				p.fields[at] = fmt.Sprintf(`{"output":{"success":%t}}`, !failed)
			case 2:
				p.ids[c.ID] = failed
			}
		}
	}
	words, reference := strings.Fields(prompt), "no such thing"
	switch r.IntN(4) {
	case 0:
		p.noAnswer, p.Answer = 1, " \n"
	case 1: // in other letters, without its marks
		p.prompt, p.Answer = 1, strings.ToUpper(strings.Join(words[1:9], " -- "))
	case 2:
		p.reference, p.Answer, reference = 1, "tests of", "TESTS, of"
	case 3:
		p.Answer = strings.Join(words[:7], " ") + " green"
	}
	p.Example = `{"answer":` + strconv.Quote(reference) + `}`
	p.say(formats.Message{Role: "assistant", Content: p.Answer, Reasoning: strings.Repeat("é", r.IntN(9)), Sampled: true})
	return p
}

func (p *planted) add(m formats.Message) int {
	m.Parent = int32(len(p.Messages)) - 1
	p.Messages = append(p.Messages, m)
	return len(p.Messages) - 1
}

func (p *planted) say(m formats.Message) {
	m.Call = int32(len(p.Calls))
	p.Calls = append(p.Calls, formats.Call{Target: true})
	p.length += len([]rune(m.Content + m.Reasoning))
	for _, c := range m.ToolCalls {
		p.length += len([]rune(c.Arguments))
	}
	p.add(m)
}

// disturb adds a branch before the last answer: a sub-agent, a turn that was not continued, or a prompt that was asked again.
func (p *planted) disturb(r *rand.Rand) {
	at := r.IntN(len(p.Messages))
	call := []formats.ToolCall{{ID: "x", Name: "edit", Arguments: `{"path":"é.go","line":2}`}}
	branch := []formats.Message{{Parent: int32(r.IntN(at+1)) - 1, Role: "assistant", Sampled: true, Call: int32(len(p.Calls)), ToolCalls: call, Branch: "retry"},
		{Parent: int32(at), Role: "tool", ToolCallID: "x", Call: -1}, {Parent: int32(at) + 1, Role: "assistant", Content: "idle", Sampled: true, Call: int32(len(p.Calls))}}
	p.Calls = append(p.Calls, formats.Call{Target: r.IntN(2) == 0, Tools: -1})
	later := func(i int) int {
		if i < at {
			return i
		}
		return i + len(branch)
	}
	moved := slices.Clone(p.Messages)
	for i := range moved {
		moved[i].Parent = int32(later(int(moved[i].Parent)))
	}
	p.Messages = slices.Insert(moved, at, branch...)
	fields := map[int]string{at + 1: `{"is_error":true}`}
	for i, v := range p.fields {
		fields[later(i)] = v
	}
	p.fields = fields
	p.Candidates = append(p.Candidates, formats.Candidate{Message: 0, Content: "not chosen", ToolCalls: call})
}

// row returns the trajectory with its metadata.
func (p *planted) row() *formats.Trajectory {
	fields := map[int]json.RawMessage{}
	for i, v := range p.fields {
		fields[i] = json.RawMessage(v)
	}
	metadata, _ := json.Marshal(map[string]any{"message_fields": fields, "rollmill_tool_errors": p.ids})
	p.Metadata = string(metadata)
	return p.Trajectory
}

// TestFindsWhatWasPlanted also checks that branches that have nothing to do with the main path change no fact.
func TestFindsWhatWasPlanted(t *testing.T) {
	const arguments = "checks=pytest|sh:go test,changes=write"
	found := map[string]bool{}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(51, seed))
		group := make([]*planted, 1+r.IntN(5))
		rows, lengths := []*formats.Trajectory{}, []int{}
		for i := range group {
			group[i] = plant(r)
			rows, lengths = append(rows, group[i].row()), append(lengths, group[i].length)
		}
		slices.Sort(lengths)
		median := float64(lengths[(len(lengths)-1)/2]+lengths[len(lengths)/2]) / 2
		got := tell(t, arguments, rows...)
		for i, p := range group {
			if want := p.want(median, len(group)); got[i] != want {
				t.Fatalf("seed %d, attempt %d: found\n%s\nplanted\n%s\n%+v", seed, i, got[i], want, p.Messages)
			}
			for line := range strings.Lines(got[i]) {
				found[strings.Fields(line)[0]] = true
			}
			for range r.IntN(4) {
				p.disturb(r)
			}
			rows[i] = p.row()
		}
		if again := tell(t, arguments, rows...); !slices.Equal(got, again) {
			t.Fatalf("seed %d: other branches changed %q to %q", seed, got, again)
		}
	}
	for _, name := range []string{"repeated_calls", "idle_turns", "tool_errors_in_a_row", "no_answer", "no_check", "copied_prompt", "copied_reference", "length_ratio"} {
		if !found[name] {
			t.Errorf("%s was never planted: %v", name, slices.Collect(maps.Keys(found)))
		}
	}
}

func (p *planted) want(median float64, members int) string {
	run := 0
	for errors := range strings.SplitSeq(p.outcomes, "0") {
		run = max(run, len(errors))
	}
	var out []string
	for _, f := range []struct {
		name string
		n    int
	}{{"repeated_calls", p.repeated}, {"idle_turns", p.idle}, {"tool_errors_in_a_row", run}, {"no_answer", p.noAnswer},
		{"no_check", p.noCheck}, {"copied_prompt", p.prompt}, {"copied_reference", p.reference}} {
		if f.n > 0 {
			out = append(out, fmt.Sprintf("%s %d", f.name, f.n))
		}
	}
	if members == 1 {
		return strings.Join(append(out, "length_ratio: its group has no other attempt, or a median of 0 characters"), "\n")
	}
	return strings.Join(append(out, fmt.Sprintf("length_ratio %.3g", float64(p.length)/median)), "\n")
}
