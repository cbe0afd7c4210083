package callstest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
)

// Shape is of what size attempts are.
type Shape struct {
	Examples, Attempts int // attempts an example
	Calls              int // an attempt, at most
	Words              int // that answers are made of: few make equal answers
}

// Attempts returns the attempts of random agents: they go on, ask again, ask several things at once, edit
// and shorten what was said, use sub-agents, and fail. The same random numbers give the same attempts.
func Attempts(r *rand.Rand, s Shape, train bool) (out []*Recorded) {
	for e := range s.Examples {
		for a := range s.Attempts {
			agent := newAgent(r, s, fmt.Sprintf("e%d-%d", e, a), e)
			agent.now = int64(r.IntN(50))*1000 + int64(len(out))
			agent.run(1 + r.IntN(s.Calls))
			out = append(out, Record(agent.name, agent.calls, train))
		}
	}
	return out
}

// agent is a program that calls a model, and the model.
type agent struct {
	*rand.Rand
	name     string
	words    int
	first    []formats.Message
	tools    string
	client   client
	ids      bool  // the engine says which tokens it had
	now      int64 // microseconds
	calls    []*Logged
	underway []int
	answers  []given
}

// given is an answer that the agent has.
type given struct {
	call   int
	prompt []formats.Message
	m      formats.Message
}

// client is how an agent sends answers back.
type client struct{ reasoning, spaces, parts, indents bool }

func newAgent(r *rand.Rand, s Shape, name string, example int) *agent {
	a := &agent{Rand: r, name: name, words: s.Words, ids: r.IntN(4) > 0}
	a.client = client{r.IntN(2) == 0, r.IntN(4) == 0, r.IntN(4) == 0, r.IntN(4) == 0}
	if example%3 > 0 {
		a.first = append(a.first, formats.Message{Role: "system", Content: "You are an agent with two tools."})
		a.tools = `[{"type":"function","function":{"name":"look"}}]`
	}
	a.first = append(a.first, formats.Message{Role: "user", Content: fmt.Sprintf("Task %d: do it.", example)})
	return a
}

func (a *agent) run(calls int) {
	for len(a.calls) < calls || len(a.underway) > 0 {
		a.now += 1000
		if len(a.underway) > 0 && (len(a.calls) == calls || a.IntN(10) < 8) {
			k := a.IntN(len(a.underway))
			i := a.underway[k]
			a.underway = slices.Delete(a.underway, k, k+1)
			a.calls[i].Row.FinishedAt = a.now
			a.answer(i)
			continue
		}
		a.ask(a.next())
	}
}

// next is what the agent asks now.
func (a *agent) next() []formats.Message {
	kind := a.IntN(100)
	if len(a.calls) == 0 {
		return a.first
	}
	if len(a.answers) == 0 || kind < 8 { // again
		prompt, _ := Asked(&a.calls[a.IntN(len(a.calls))].Row)
		return slices.Clone(prompt)
	}
	last := a.answers[len(a.answers)-1]
	if a.IntN(5) == 0 {
		last = a.answers[a.IntN(len(a.answers))]
	}
	user := formats.Message{Role: "user", Content: "And then " + a.word() + "?"}
	system := formats.Message{Role: "system", Content: "You are an agent with two tools."}
	switch {
	case kind < 12:
		return a.first
	case kind < 17:
		return []formats.Message{{Role: "system", Content: "You summarise."}, user}
	case kind < 20:
		return []formats.Message{system, user}
	case kind < 24:
		return []formats.Message{system, {Role: "user", Content: "So far:\n" + last.m.Content + "\nGo on."}}
	case kind < 27:
		kept := a.back(last.m)
		kept.ToolCalls = last.m.ToolCalls // the recorder restores their text, which the log does not have
		return []formats.Message{system, kept, user}
	}
	prompt := a.goOn(last)
	switch at := a.IntN(len(prompt)); {
	case kind < 32:
		m := &prompt[at]
		m.Content, m.ContentParts, m.ToolCalls = "edited "+a.word(), "", nil // the recorder would restore the calls' text
	case kind < 35 && at > 0:
		prompt = slices.Delete(prompt, at, at+1)
	case kind < 38:
		prompt = append(prompt, formats.Message{Role: "assistant", Content: "I said " + a.word()}, user)
	}
	return prompt
}

// goOn is the prompt after an answer.
func (a *agent) goOn(g given) []formats.Message {
	prompt := append(slices.Clone(g.prompt), a.back(g.m))
	for _, c := range g.m.ToolCalls {
		prompt = append(prompt, formats.Message{Role: "tool", ToolCallID: c.ID, Content: "it is " + a.word()})
	}
	if len(g.m.ToolCalls) == 0 {
		prompt = append(prompt, formats.Message{Role: "user", Content: "And then " + a.word() + "?"})
	}
	return prompt
}

// back is an answer as the client sends it.
func (a *agent) back(m formats.Message) formats.Message {
	m = Sent(m)
	if !a.client.reasoning {
		m.Reasoning = ""
	}
	if a.client.spaces {
		m.Content += "\n"
	}
	if a.client.parts {
		m.ContentParts = string(jsontext.AppendString([]byte(`[{"type":"text","text":`), m.Content)) + "}]"
		m.Content = ""
	}
	if a.client.indents {
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for i := range m.ToolCalls {
			m.ToolCalls[i].Arguments = strings.ReplaceAll(m.ToolCalls[i].Arguments, ":", " : ")
		}
	}
	return m
}

func (a *agent) ask(prompt []formats.Message) {
	l := &Logged{Attempt: a.name, Index: len(a.calls)}
	t := &l.Row
	t.TrajectoryID, t.StartedAt = l.Mark(), a.now
	for i, m := range prompt {
		m.Parent, m.Call = int32(i)-1, -1
		t.Messages = append(t.Messages, m)
	}
	call := formats.Call{Model: "policy", Sampling: `{"temperature":1}`, Tools: -1, Target: a.IntN(8) > 0, PromptTokens: 10, LatencyMS: 7, Attempts: 1,
		Endpoint: "engine", Function: "f"}
	if a.tools != "" && prompt[0].Content != "You summarise." {
		t.ToolSets, call.Tools = []string{a.tools}, 0
		if a.IntN(10) == 0 {
			t.ToolSets[0] = `[{"type":"function","function":{"name":"other"}}]`
		}
	}
	t.Calls = []formats.Call{call}
	a.calls = append(a.calls, l)
	a.underway = append(a.underway, l.Index)
}

// answer gives a call its answer, or none.
func (a *agent) answer(index int) {
	t := &a.calls[index].Row
	prompt := t.Messages
	end := int32(len(prompt)) - 1
	if a.IntN(12) == 0 {
		t.Calls[0].Error, t.Calls[0].PromptTokens = "the engine answered 500", 0
		importers.Fail(t, outcomes.FailEngine, t.Calls[0].Error)
		return
	}
	n := 1
	if a.IntN(10) == 0 {
		n = 2
	}
	for k := range n {
		m := a.sample(t.Calls[0].Tools >= 0)
		m.Parent = end
		if k > 0 {
			m.Branch = importers.BranchChoice
		}
		if a.ids {
			m.TokenIDs = tokens(m.Reasoning, m.Content, arguments(&m))
			m.PromptDeltaIDs = a.render(prompt)
			t.TokenSource = schema.TokensChoice
		}
		for range tokens(m.Reasoning, m.Content, arguments(&m)) {
			m.Logprobs = append(m.Logprobs, -a.Float32())
		}
		t.Calls[0].CompletionTokens += int32(len(m.Logprobs))
		t.Messages = append(t.Messages, m)
		a.answers = append(a.answers, given{index, prompt, m})
	}
}

func (a *agent) sample(tools bool) formats.Message {
	m := formats.Message{Role: "assistant", Sampled: true, FinishReason: "stop", Content: "Now I do " + a.word() + " and no more."}
	if a.IntN(4) == 0 {
		m.Reasoning = "I think of " + a.word()
	}
	if tools && a.IntN(2) == 0 {
		m.FinishReason = "tool_calls"
		id := fmt.Sprint("call_", a.IntN(a.words))
		m.ToolCalls = []formats.ToolCall{{ID: id, Name: "look", Arguments: `{"at":"` + a.word() + `","n":1}`}}
	}
	return m
}

func (a *agent) word() string { return fmt.Sprint("w", a.IntN(a.words)) }

// render returns the tokens of a prompt.
func (a *agent) render(prompt []formats.Message) (out []int32) {
	for i := range prompt {
		m := &prompt[i]
		out = append(out, tokens(m.Role, m.Reasoning, chat.ContentText(m), arguments(m), "end")...)
	}
	return append(out, tokens("assistant")...)
}

func arguments(m *formats.Message) (out string) {
	for _, c := range m.ToolCalls {
		out += " " + c.Name + " " + c.Arguments
	}
	return out
}

// tokens returns an id for each word.
func tokens(texts ...string) (out []int32) {
	for _, text := range texts {
		for w := range strings.FieldsSeq(text) {
			out = append(out, int32(xxh3.HashString(w)%50_000))
		}
	}
	return out
}
