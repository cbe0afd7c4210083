package validate

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/training"
)

func ptr[T any](v T) *T { return &v }

// sourceRow is a row of an import, and its group.
type sourceRow struct {
	Source
	Group string
	T     *formats.Trajectory
}

// inMemory returns a check whose sorters spill nothing.
func inMemory() *SourceCheck { return NewSourceCheck("", 1<<20) }

// sound returns a group of two rows without any finding.
func sound() []sourceRow {
	rows := make([]sourceRow, 2)
	for i := range rows {
		answer := formats.Message{Parent: 1, Role: "assistant", Content: strings.Repeat("so ", i+1), Sampled: true,
			ToolCalls: []formats.ToolCall{{ID: "c", Name: "search", Arguments: `{"q":"x"}`}},
			TokenIDs:  []int32{1, 2}, Logprobs: []float32{-1, -2}, PromptDeltaIDs: []int32{7}}
		rows[i] = sourceRow{Source{File: "a.jsonl", Line: int64(i) + 1, Record: int64(i), ID: string(rune('a' + i))}, "g", &formats.Trajectory{
			Status: outcomes.StatusOK, Model: "m", PolicyVersion: ptr(int64(3)), Reward: ptr(float64(i)),
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

func reported(t *testing.T, rows []sourceRow) Report {
	t.Helper()
	l := inMemory()
	for _, r := range rows {
		if err := l.Add(r.Group, r.Source, r.T); err != nil {
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
	spoil func(rows []sourceRow, t *formats.Trajectory) []sourceRow
	want  string // findings and their counts
	block string // uses that are not possible for all rows, and for how many they are
}{
	{"nothing", func(rows []sourceRow, t *formats.Trajectory) []sourceRow { return rows }, "", ""},
	{"failed", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Status, t.Reward, t.Messages = outcomes.StatusFailed, nil, nil
		return rows
	}, "failures 1, singleton 1", "dpo 0, grpo 0, judging 1, kto 1, sft 1, tokens 1, tool-rewards 1"},
	{"skipped", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		for i := range rows {
			rows[i].T.Status, rows[i].T.Messages = outcomes.StatusSkipped, nil
		}
		return rows
	}, "failures 2", "dpo 0, grpo 0, judging 0, kto 0, sft 0, tokens 0, tool-rewards 0"},
	{"truncated", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Status = outcomes.StatusTruncated
		return rows
	}, "truncated 1", ""},
	{"a prompt only", func(rows []sourceRow, t *formats.Trajectory) []sourceRow { t.Messages = t.Messages[:2]; return rows },
		"last_not_assistant 1, no_assistant 1, no_pair 1, no_tool_calls 1, untrained 1", "dpo 0, grpo 1, judging 1, kto 1, sft 1, tokens 1, tool-rewards 1"},
	{"no messages", func(rows []sourceRow, t *formats.Trajectory) []sourceRow { t.Messages = nil; return rows },
		"no_assistant 1, no_pair 1, no_system_prompt 1, no_tool_calls 1, untrained 1", "dpo 0, grpo 1, judging 1, kto 1, sft 1, tokens 1, tool-rewards 1"},
	{"an answer that does not train", func(rows []sourceRow, t *formats.Trajectory) []sourceRow { t.Calls[0].Target = false; return rows },
		"no_pair 1, untrained 1", "dpo 0, grpo 1, kto 1, sft 1, tokens 1"},
	{"an empty answer", func(rows []sourceRow, t *formats.Trajectory) []sourceRow { again(t).Content = ""; return rows },
		"empty_answer 1, several_answers 1", "kto 1, sft 1"},
	{"tokens alone", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Messages, t.Metadata = t.Messages[2:], `{"prompt":[{"role":"user","content":"who?"}]}`
		t.Messages[0].Parent, t.Messages[0].Content, t.Messages[0].ToolCalls = -1, "", nil
		return rows
	}, "no_pair 1, no_system_prompt 1, no_text 1, no_tool_calls 1, role_order 1", "dpo 0, judging 1, kto 1, sft 1, tool-rewards 1"},
	{"no logprobs", func(rows []sourceRow, t *formats.Trajectory) []sourceRow { t.Messages[2].Logprobs = nil; return rows },
		"no_logprobs 1", "grpo 1, tokens 1"},
	{"some logprobs", func(rows []sourceRow, t *formats.Trajectory) []sourceRow { again(t).Logprobs = nil; return rows },
		"partial_logprobs 1, several_answers 1", "grpo 1, kto 1, tokens 1"},
	{"too few logprobs", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Messages[2].Logprobs = []float32{-1}
		return rows
	},
		"logprob_count 1", "grpo 1, tokens 1"},
	{"placeholders", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Messages[2].Logprobs[1] = -9999
		return rows
	},
		"logprob_floors 1", "grpo 1, tokens 1"},
	{"no token ids", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Messages[2].TokenIDs, t.Messages[2].PromptDeltaIDs = nil, nil
		return rows
	}, "no_token_ids 1", "tokens 1"},
	{"no prompt ids", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Messages[2].PromptDeltaIDs = nil
		return rows
	},
		"no_prompt_ids 1", "tokens 1"},
	{"no reward", func(rows []sourceRow, t *formats.Trajectory) []sourceRow { t.Reward = nil; return rows },
		"no_preferences 1, singleton 1, unscored 1", "dpo 0, grpo 0, kto 1"},
	{"no rewards", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Reward, rows[1].T.Reward = nil, ptr(math.NaN())
		return rows
	},
		"no_preferences 2, unscored 2", "dpo 0, grpo 0, kto 0"},
	{"the same answer with another score", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Messages[2].Content = rows[1].T.Messages[2].Content
		return rows
	}, "duplicate_content 1, no_pair 2", "dpo 0"},
	{"answers to two prompts", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Messages[1].Content = "how?"
		return rows
	}, "no_pair 2", "dpo 0"},
	{"answers with two sets of tools", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.ToolSets[0] = `[{"type":"function","function":{"name":"search","strict":true}}]`
		return rows
	}, "no_pair 2", "dpo 0"},
	{"two pairs and a row apart", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		more := sound()
		for i, r := range more {
			r.T.Messages[1].Content = "how?"
			r.ID, r.T.Reward = r.ID+"2", ptr(float64(2-i))
			rows = append(rows, r)
		}
		third := sound()[0]
		third.ID, third.T.Messages[1].Content = "third", "when?"
		return append(rows, third)
	}, "no_pair 1", "dpo 4"},
	{"a preference", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		for i := range rows {
			rows[i].T.Reward, rows[i].Preferred, rows[i].ID = nil, ptr(i == 0), "both"
		}
		return rows
	}, "unscored 2", "grpo 0"},
	{"labels that agree", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		for i := range rows {
			rows[i].T.Reward, rows[i].Preferred = nil, ptr(true)
		}
		return rows
	}, "flat 1, unscored 2", "dpo 0, grpo 0"},
	{"scored candidates", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Reward, t.Candidates = nil, []formats.Candidate{{}, {Score: ptr(1.0)}, {Score: ptr(2.0)}}
		return rows
	}, "singleton 1, unscored 1", "dpo 1, grpo 0"},
	{"a group of one", func(rows []sourceRow, t *formats.Trajectory) []sourceRow { return rows[:1] }, "singleton 1", "dpo 0, grpo 0"},
	{"a flat group", func(rows []sourceRow, t *formats.Trajectory) []sourceRow { t.Reward = ptr(1.0); return rows }, "flat 1", "dpo 0, grpo 0"},
	{"an id twice", func(rows []sourceRow, t *formats.Trajectory) []sourceRow { rows[1].ID = rows[0].ID; return rows }, "duplicate_ids 1", ""},
	{"no ids", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		rows[0].ID, rows[1].ID = "", ""
		return rows
	}, "", ""},
	{"an answer twice", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Messages[2].Content, t.Messages[2].ToolCalls[0].ID = rows[1].T.Messages[2].Content, "other"
		return rows
	}, "duplicate_content 1, no_pair 2", "dpo 0"},
	{"an answer in two groups", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		more := sound()
		for i := range more {
			more[i].Group, more[i].ID = "h", more[i].ID+"2"
		}
		return append(rows, more...)
	}, "", ""},
	{"a row twice", func(rows []sourceRow, t *formats.Trajectory) []sourceRow { return append(rows, rows[0]) },
		"copies 1, duplicate_content 1, duplicate_ids 1", "grpo 2, tokens 2"},
	{"a row for each call", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		for n := range 3 {
			again(t)
			more := *t
			more.Messages = slices.Clone(t.Messages)
			rows = append(rows, sourceRow{Group: rows[0].Group, Source: Source{File: "a.jsonl", Line: int64(5 + n)}, T: &more})
		}
		return rows[1:]
	}, "prefix_rows 4, several_answers 3", "dpo 0, grpo 0, kto 0, tokens 0"},
	{"a short attempt and a longer one", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		more := *t
		more.Messages = slices.Clone(t.Messages)
		again(&more)
		return append(rows, sourceRow{Group: rows[0].Group, Source: Source{File: "a.jsonl", Line: 7}, T: &more})
	}, "several_answers 1", "kto 2"},
	{"an image", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Messages[1].Content, t.Messages[1].ContentParts = "", `[{"type":"image_url"}]`
		return rows
	}, "content_parts 1, media_tokens 1, no_pair 1", "dpo 0, grpo 1, kto 1, sft 1, tokens 1"},
	{"branches", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Messages = append(t.Messages, t.Messages[2])
		return rows
	}, "branched_answers 1, no_pair 1, several_answers 1", "dpo 0, kto 1, sft 1"},
	{"an answer of somebody else", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		m := again(t)
		m.Content, t.Messages[2].Sampled, t.Messages[2].Call = "yes", false, -1
		return rows
	}, "foreign_answers 1, no_pair 2", "dpo 0, sft 1"},
	{"a dialogue", func(rows []sourceRow, t *formats.Trajectory) []sourceRow { again(t); return rows }, "several_answers 1", "kto 1"},
	{"a result at the end", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		add(t, formats.Message{Role: "tool", Content: "found", ToolCallID: "c"})
		return rows
	}, "last_not_assistant 1", ""},
	{"a late system prompt", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Messages[0].Role, t.Messages[1].Role = "user", "developer"
		return rows
	}, "no_pair 2, role_order 1", "dpo 0"},
	{"an unknown role", func(rows []sourceRow, t *formats.Trajectory) []sourceRow { t.Messages[1].Role = "human"; return rows }, "no_pair 2, role_order 1", "dpo 0"},
	{"no system prompt", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Messages = t.Messages[1:]
		t.Messages[0].Parent, t.Messages[1].Parent = -1, 0
		return rows
	}, "no_pair 2, no_system_prompt 1", "dpo 0"},
	{"no tool calls", func(rows []sourceRow, t *formats.Trajectory) []sourceRow { t.Messages[2].ToolCalls = nil; return rows }, "no_tool_calls 1",
		"tool-rewards 1"},
	{"no definitions", func(rows []sourceRow, t *formats.Trajectory) []sourceRow { t.Calls[0].Tools = -1; return rows }, "no_pair 2, no_tools 1", "dpo 0, tool-rewards 1"},
	{"a tool that is not defined", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Messages[2].ToolCalls[0].Name = "find"
		return rows
	}, "undefined_tool 1", ""},
	{"short definitions", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.ToolSets[0] = `[{"name":"search"}]`
		return rows
	}, "no_pair 2", "dpo 0"},
	{"no arguments", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Messages[2].ToolCalls[0].Arguments = ""
		return rows
	},
		"bad_arguments 1", "tool-rewards 1"},
	{"a call of the user", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Messages[1].ToolCalls = []formats.ToolCall{{ID: "u", Name: "search", Arguments: "{}"}}
		return rows
	}, "foreign_calls 1, no_pair 1", "dpo 0, kto 1, sft 1"},
	{"an image before recorded tokens", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Messages[1].Content, t.Messages[1].ContentParts = "", `[{"type":"input_audio"}]`
		return rows
	}, "content_parts 1, media_tokens 1, no_pair 1", "dpo 0, grpo 1, kto 1, sft 1, tokens 1"},
	{"an unanswered call", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		add(t, formats.Message{Role: "user", Content: "and?"})
		m := t.Messages[2]
		m.ToolCalls = nil
		add(t, m)
		return rows
	}, "several_answers 1, unanswered_calls 1", "kto 1, sft 1, tool-rewards 1"},
	{"a result without its call", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		again(t)
		t.Messages[3].ToolCallID = "d"
		return rows
	}, "no_pair 1, several_answers 1, tool_calls 1", "dpo 0, grpo 1, kto 1, sft 1, tool-rewards 1"},
	{"a mask that is not known", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Metadata = `{"message_fields":{"2":{"extra":{"noLossHere":0}}}}`
		return rows
	}, "no_pair 1, unread_mask 1", "dpo 0, grpo 1, kto 1, sft 1, tokens 1"},
	{"a list of masks", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Metadata = `{"turn-weights":[1,1,0]}`
		return rows
	}, "no_pair 1, unread_mask 1", "dpo 0, grpo 1, kto 1, sft 1, tokens 1"},
	{"masks that take nothing away", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Metadata = `{"message_fields":{"0":{"loss_mask":0},"2":{"loss":0.37,"loss_mask":1,"constraint":0,"demographics":"x"}},"loss_weights":[1,1,1],"train_split":0,"weight":0.5}`
		return rows
	}, "", ""},
	{"content elsewhere", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Messages[2].Content, t.Messages[2].ToolCalls, t.Metadata = "", nil, `{"message_fields":{"2":{"parts":[{"text":"yes"}]}}}`
		return rows
	}, "empty_answer 1, no_pair 1, no_tool_calls 1, unread_content 1", "dpo 0, kto 1, sft 1, tool-rewards 1"},
	{"a call without a member of arguments", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Metadata = `{"message_fields":{"2":{"tool_calls":[{"arguments":null}]}}}`
		return rows
	}, "no_arguments 1, no_pair 1", "dpo 0, kto 1, sft 1, tool-rewards 1"},
	{"images beside the text", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Metadata = `{"pictures":["a/1.jpg"]}`
		return rows
	}, "content_parts 1, no_pair 1", "dpo 0, kto 1, sft 1"},
	{"names of images that are none", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Metadata = `{"image_name":"swebench/sweb.eval:latest","docker_image":"python:3.11","num_images":1,"image_caption":"a cat","images":[]}`
		return rows
	}, "", ""},
	{"turns beside the messages", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Metadata = `{"earlier_history":[["before","this"]]}`
		return rows
	}, "no_pair 1, unread_history 1", "dpo 0, grpo 1, kto 1, sft 1"},
	{"the prompt once more", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Metadata = `{"prompt":` + strconv.Quote("<s>"+t.Messages[1].Content) + `,"conversation_id":"c","turns":1,"context_length":[3,4]}`
		return rows
	}, "", ""},
	{"a weight of one answer", func(rows []sourceRow, t *formats.Trajectory) []sourceRow {
		t.Losses = []training.MessageLoss{{Message: 2, Loss: training.LossRL, Weight: 0.5}}
		t.Metadata = `{"message_fields":{"2":{"weight":0.5}}}`
		return rows
	}, "message_weights 1, no_pair 1", "dpo 0, kto 1, sft 1"},
	{"no model", func(rows []sourceRow, t *formats.Trajectory) []sourceRow { t.Model = ""; return rows }, "no_model 1", ""},
	{"no version", func(rows []sourceRow, t *formats.Trajectory) []sourceRow { t.PolicyVersion = nil; return rows }, "no_policy_version 1", ""},
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
			if u.Verdict != possible {
				open = append(open, sprint(u.Use, u.Possible))
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
	for _, c := range imported {
		if !found[c.Name] {
			t.Errorf("no test finds %s", c.Name)
		}
	}
}

// TestAll checks the list: each check has one name, an earlier name selects it, and the
// commands that make it know what they need.
func TestAll(t *testing.T) {
	names := map[string]bool{}
	for _, c := range All {
		if names[c.Name] || c.Help == "" || c.In == 0 || !slices.Contains(Severities, c.Severity) {
			t.Errorf("%+v", c)
		}
		names[c.Name] = true
		if c.Severity == Damage != (c.Name == "damage") || c.AtImport != "" && !slices.Contains(Severities, c.AtImport) {
			t.Errorf("%s is %s, at an import %s", c.Name, c.Severity, c.AtImport)
		}
		if c.In&Import != 0 && c.Hint == "" {
			t.Errorf("an import does not say what to do about %s", c.Name)
		}
		if made := c.checker() != nil; made == (c.Sees == WholeRun) && !strings.HasPrefix(c.Name, "duplicate_") && c.Name != "no_pair" {
			t.Errorf("%s: a doctor makes it: %v", c.Name, made)
		}
		if c.In&Submit != 0 && (c.In&Audit == 0 || !c.Severity.AtLeast(Warning)) {
			t.Errorf("submit makes %s, audit does not, or it is only a note", c.Name)
		}
	}
	if got, err := Named(In(Audit), []string{"no-tools", "unanswered_calls", "flat"}); err != nil ||
		!maps.Equal(got, map[string]bool{"no_tools": true, "unanswered_calls": true, "flat": true}) {
		t.Errorf("%v, %v", got, err)
	}
	if n := len(imported); n > maxImported {
		t.Errorf("%d checks", n)
	}
	if want := []string{"grpo", "dpo"}; !slices.Equal(uses(grouping).names(), want) {
		t.Errorf("%v compare rows, want %v", uses(grouping).names(), want)
	}
}
