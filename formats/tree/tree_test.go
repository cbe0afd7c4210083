package tree_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/tree"
)

// prompt makes messages of texts; those that begin with "a:" are the assistant's.
func prompt(texts ...string) []formats.Message {
	var out []formats.Message
	for _, text := range texts {
		m := formats.Message{Role: "user", Content: text, Call: -1}
		if rest, ok := strings.CutPrefix(text, "a:"); ok {
			m.Role, m.Content = "assistant", rest
		}
		out = append(out, m)
	}
	return out
}

func answered(text string) formats.Message {
	return formats.Message{Role: "assistant", Content: text, Sampled: true}
}

// shape is a tree in one line: each message with its parent and its branch.
func shape(t *tree.Tree) string {
	var out []string
	for _, m := range t.Messages {
		out = append(out, strings.TrimRight(fmt.Sprintf("%s<%d %s", m.Content, m.Parent, m.Branch), " "))
	}
	return strings.Join(out, ", ")
}

var start = tree.Path{At: -1}

func TestTreeSharesBeginningsAndNamesBranches(t *testing.T) {
	var tr tree.Tree
	ask := func(answer string, texts ...string) int {
		return tr.AddSampled(tr.Walk(start, prompt(texts...)), answered(answer), 0, tree.Span{})
	}
	ask("hello", "hi")
	if at := ask("fine", "hi", "a:hello", "how?"); at != 3 {
		t.Errorf("the answer is message %d", at)
	}
	ask("short", "hi", "a:summary", "how?")
	ask("done", "other")
	want := "hi<-1, hello<0, how?<1, fine<2, summary<0 history, how?<4, short<5, other<-1 subagent, done<7"
	if got := shape(&tr); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestTreeNamesFurtherAnswersToOnePrompt(t *testing.T) {
	var tr tree.Tree
	p := tr.Walk(start, prompt("hi"))
	tr.AddSampled(p, answered("one"), 0, tree.Span{Began: 1, Ended: 3})
	tr.AddSampled(p, answered("two"), 1, tree.Span{Began: 1, Ended: 3})
	tr.AddSampled(p, answered("three"), 0, tree.Span{Began: 2, Ended: 5})
	tr.AddSampled(p, answered("four"), 0, tree.Span{Began: 5, Ended: 6})
	if got, want := shape(&tr), "hi<-1, one<0, two<0 choice, three<0 parallel, four<0 retry"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestTreeContinuesTheLatestOrTheOldest: of two answers that are the same, and of
// several earlier answers when the cause of a branch is found.
func TestTreeContinuesTheLatestOrTheOldest(t *testing.T) {
	for oldest, want := range map[bool]string{
		false: "hi<-1, one<0, one<0 retry, three<0 parallel, so?<2",
		true:  "hi<-1, one<0, one<0 retry, three<0 retry, so?<1",
	} {
		tr := tree.Tree{Oldest: oldest}
		p := tr.Walk(start, prompt("hi"))
		tr.AddSampled(p, answered("one"), 0, tree.Span{Began: 1, Ended: 2})
		tr.AddSampled(p, answered("one"), 0, tree.Span{Began: 3, Ended: 9})
		tr.AddSampled(p, answered("three"), 0, tree.Span{Began: 4, Ended: 9})
		tr.Walk(start, prompt("hi", "a:one", "so?"))
		if got := shape(&tr); got != want {
			t.Errorf("oldest=%v: %s, want %s", oldest, got, want)
		}
	}
}

// TestTreeComparesAsItsOwnerSays: an answer that came back with other space is the
// same to the recorder, and to no one who compares texts alone.
func TestTreeComparesAsItsOwnerSays(t *testing.T) {
	texts := func(known, m *formats.Message) bool { return known.Content == m.Content }
	for name, c := range map[string]struct {
		tree tree.Tree
		want string
	}{
		"recorder":   {tree.Tree{}, "hi<-1,  hello <0, so?<1"},
		"texts only": {tree.Tree{Same: texts}, "hi<-1,  hello <0, hello<0 history, so?<2"},
	} {
		tr := &c.tree
		tr.AddSampled(tr.Walk(start, prompt("hi")), answered(" hello "), 0, tree.Span{})
		tr.Walk(start, prompt("hi", "a:hello", "so?"))
		if got := shape(tr); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestReturnedAnswersNameTheChange that explains most of a break.
func TestReturnedAnswersNameTheChange(t *testing.T) {
	sampled := formats.Message{Role: "assistant", Content: "a", Reasoning: "hm", Sampled: true,
		ToolCalls: []formats.ToolCall{{ID: "1", Name: "f", Arguments: `{"x": 1}`}}}
	for want, change := range map[string]func(m *formats.Message){
		"":                   func(*formats.Message) {},
		tree.BreakReasoning:  func(m *formats.Message) { m.Reasoning = "" },
		tree.BreakContent:    func(m *formats.Message) { m.Reasoning, m.Content = "", " a" },
		tree.BreakArguments:  func(m *formats.Message) { m.Content, m.ToolCalls[0].Arguments = " a", `{"x":1.0}` },
		"not found: call":    func(m *formats.Message) { m.ToolCalls[0].Arguments = `{"x":2}` },
		"not found: content": func(m *formats.Message) { m.Content = "b" },
	} {
		var tr tree.Tree
		at := tr.AddSampled(tr.Walk(start, prompt("hi")), sampled, 0, tree.Span{})
		m := sampled
		m.Sampled, m.ToolCalls = false, slices.Clone(sampled.ToolCalls)
		change(&m)
		p := tr.Walk(start, append(prompt("hi"), m))
		switch {
		case strings.HasPrefix(want, "not found"):
			if p.At == at {
				t.Errorf("%s: %+v continues the answer", want, m)
			}
		case p.At != at || p.Changed[at] != want:
			t.Errorf("%+v is message %d, changed %v, want %q", m, p.At, p.Changed, want)
		}
	}
}

func TestSameCallComparesArgumentsAsJSON(t *testing.T) {
	call := func(id, name, arguments string) formats.ToolCall {
		return formats.ToolCall{ID: id, Name: name, Arguments: arguments}
	}
	for _, c := range []struct {
		a, b formats.ToolCall
		want bool
	}{
		{call("1", "f", `{"a":1,"b":2}`), call("1", "f", `{ "b": 2, "a": 1.0 }`), true},
		{call("1", "f", `{"a":1}`), call("1", "f", `{"a":2}`), false},
		{call("1", "f", `not JSON`), call("1", "f", `not JSON`), true},
		{call("1", "f", `not JSON`), call("1", "f", `not  JSON`), false},
		{call("1", "f", `{}`), call("2", "f", `{}`), false},
		{call("1", "f", `{}`), call("1", "g", `{}`), false},
	} {
		if got := tree.SameCall(c.a, c.b); got != c.want {
			t.Errorf("%v, %v: %v", c.a, c.b, got)
		}
	}
}

// TestTreeTellsSubagentsFromCompaction by the system prompt, the session, and
// what a prompt keeps of earlier answers.
func TestTreeTellsSubagentsFromCompaction(t *testing.T) {
	const summary = "<analysis>\nlong thoughts about it\n</analysis>\n<summary>\nThe task is to add numbers.\nThree were added.\n</summary>"
	system := formats.Message{Role: "system", Content: "You add.", Call: -1}
	for want, prompts := range map[string][2][]formats.Message{
		"compaction: a summary": {prompt("task", "a:one", "more", "a:two", "sum up"),
			prompt("Continued from before:\nSummary:\nThe task is to add numbers.\nThree were added.\nGo on.")},
		"compaction: the last turns":               {prompt("task", "a:one", "more", "a:two", "sum up"), prompt("task", "a:"+summary, "go on")},
		"subagent: another first message":          {prompt("task", "a:one", "more"), prompt("another task")},
		"history: an edit":                         {prompt("task", "a:one", "more"), prompt("task", "a:one, or two", "more")},
		"history: an edit before an answer":        {prompt("task", "a:one", "more"), prompt("task", "a:1", "more", "a:"+summary, "go on")},
		"subagent: the same first words of a task": {prompt("task", "a:one", "more"), prompt("task two", "a:one")},
	} {
		cause, _, _ := strings.Cut(want, ":")
		for _, with := range []bool{false, true} {
			var tr tree.Tree
			first, second := prompts[0], prompts[1]
			if with {
				first, second = append([]formats.Message{system}, first...), append([]formats.Message{system}, second...)
			}
			tr.AddSampled(tr.Walk(start, first), answered(summary), 0, tree.Span{})
			before := len(tr.Messages)
			tr.Walk(start, second)
			if got := tr.Messages[before].Branch; got != cause {
				t.Errorf("%s, system prompt %v: %s", want, with, got)
			}
			other := append([]formats.Message{{Role: "system", Content: "You are another.", Call: -1}}, prompts[1]...)
			before = len(tr.Messages)
			tr.Walk(start, other)
			if got := tr.Messages[before].Branch; got != tree.BranchSubagent {
				t.Errorf("%s, another system prompt: %s", want, got)
			}
		}
	}
}

// TestTreeKnowsSubagentsBySession although they share the beginning of a prompt.
func TestTreeKnowsSubagentsBySession(t *testing.T) {
	var tr tree.Tree
	for _, c := range []struct{ session, texts, want string }{
		{"main", "env|task", ""}, {"one", "env|its task", "subagent"}, {"one", "env|its task, edited", "history"}, {"main", "env|task, edited", "history"},
		{"two", "env|task", ""},
	} {
		before := len(tr.Messages)
		p := tr.WalkIn(c.session, start, prompt(strings.Split(c.texts, "|")...))
		got := ""
		if before < len(tr.Messages) {
			got = tr.Messages[before].Branch
		}
		if got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
		tr.AddSampled(p, answered("yes"), 0, tree.Span{})
	}
}
