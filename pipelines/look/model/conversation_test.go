package model

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/looktest"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/countingtest"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestConversationReadsLittle checks that one conversation of many is found by the
// ids and read alone, joined with its score.
func TestConversationReadsLittle(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	id := ""
	rollout, score := looktest.ScoredRun(t, root, randomtest.Options{Groups: 150, Scored: true}, func(r *formats.Trajectory, s *formats.Score) {
		if s.TrajectoryID = r.TrajectoryID; r.ExampleID == "example-000100" && r.Generation == 3 {
			id = r.TrajectoryID
			s.Reward = new(float64)
			*s.Reward = 0.125
		}
	})
	var moved countingtest.Counter
	c, err := Converse(storage.Wrapping(t.Context(), moved.Wrap), score.URI(), id)
	if err != nil {
		t.Fatal(err)
	}
	if c.Row != 803 || c.t.Reward == nil || *c.t.Reward != 0.125 || c.Trains == TrainsYes {
		t.Errorf("%+v", c)
	}
	if n, all := moved.Read(), rollout.Bytes+score.Bytes; n > all/5 {
		t.Errorf("%d of %d bytes were read", n, all)
	}
	if v, ok := c.Is.Of("reward").(*float64); !ok || v == nil || *v != 0.125 || c.Is.Of("messages") == nil {
		t.Errorf("reward %v", c.Is.Of("reward"))
	}
	_, err = Converse(t.Context(), score.URI(), "nothing")
	var bad *fault.Error
	if !errors.As(err, &bad) || !strings.Contains(bad.What, `no trajectory "nothing"`) {
		t.Errorf("%v", err)
	}
}

// conversationOf writes one trajectory and reads it as a conversation.
func conversationOf(t *testing.T, messages []formats.Message) *Conversation {
	t.Helper()
	uri := filepath.Join(t.TempDir(), "rollout")
	rows := [][]formats.Trajectory{{{TrajectoryID: "t", ExampleID: "e", Status: outcomes.StatusOK, StopReason: outcomes.StopDone, Example: "{}",
		Messages: messages, Calls: []formats.Call{{Target: true, Tools: -1}, {Tools: -1, Function: "helper"}}}}}
	looktest.Write(t, uri, manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, rows, -1)
	c, err := Converse(t.Context(), uri, "t")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func textOf(t *testing.T, c *Conversation, markdown, full bool) string {
	t.Helper()
	var b strings.Builder
	if err := c.Write(&b, markdown, full); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestConversationTree checks the order and the depth of branches and sub-agents,
// and which messages train.
func TestConversationTree(t *testing.T) {
	c := conversationOf(t, []formats.Message{
		{Parent: -1, Role: "user", Content: "q", Call: -1},
		{Parent: 0, Role: "assistant", Content: "one", Sampled: true, Call: 0, Branch: "choice", TokenIDs: []int32{1}, Logprobs: []float32{-1}},
		{Parent: 0, Role: "assistant", Content: "two", Sampled: true, Call: 0, FinishReason: "stop", TokenIDs: []int32{1, 2}, Logprobs: []float32{-0.5, -1.5}},
		{Parent: -1, Role: "system", Content: "sub", Call: -1},
		{Parent: 3, Role: "assistant", Content: "sub says", Sampled: true, Call: 1},
		{Parent: 2, Role: "user", Content: "go on", Call: -1},
		{Parent: 5, Role: "assistant", Content: "three", Sampled: true, Call: 0, PrefixBreak: "tokens", TokenIDs: []int32{1}},
	})
	var got []string
	for line := range strings.Lines(textOf(t, c, false, false)) {
		if strings.HasPrefix(strings.TrimSpace(line), "[") {
			got = append(got, strings.TrimRight(line, "\n"))
		}
	}
	want := []string{
		"[0] user",
		"    [1] assistant  (branch after message 0: another choice of the same call, 1 token, mean logprob -1, finish -, call 0, trains if curate keeps it)",
		"[2] assistant  (2 tokens, mean logprob -1, finish stop, call 0, trains if curate keeps it)",
		"[5] user",
		"[6] assistant  (1 token, finish -, call 0, prefix break: tokens, trains if curate keeps it)",
		"    [3] system  (a conversation of its own: sub-agent helper)",
		"    [4] assistant  (no token ids, finish -, call 1 of helper, does not train: its call is not to the target: helper)",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestPlacesReachAll checks that each message of a damaged tree is visited once.
func TestPlacesReachAll(t *testing.T) {
	for _, parents := range [][]int32{{1, 0}, {0}, {7, -1, -5}, {-1, 0, 3, 2}, {}} {
		row := formats.Trajectory{}
		for _, p := range parents {
			row.Messages = append(row.Messages, formats.Message{Parent: p})
		}
		seen := map[int]int{}
		for _, p := range Places(&row) {
			seen[p.Number]++
		}
		for i := range parents {
			if seen[i] != 1 {
				t.Errorf("%v: message %d is visited %d times", parents, i, seen[i])
			}
		}
	}
}

// TestLongConversations checks one of 200 messages, and a tool's output of 1 MB,
// which is printed only with --full.
func TestLongConversations(t *testing.T) {
	var messages []formats.Message
	for i := range 200 {
		messages = append(messages, formats.Message{Parent: int32(i - 1), Role: "user", Content: fmt.Sprintf("turn %d", i), Call: -1})
	}
	text := textOf(t, conversationOf(t, messages), false, false)
	if n := strings.Count(text, "\n["); n != 200 || !strings.Contains(text, "\n[199] user\n    turn 199\n") {
		t.Errorf("%d messages:\n%s", n, text)
	}
	c := conversationOf(t, []formats.Message{{Parent: -1, Role: "tool", Content: strings.Repeat("é", 1<<19), Call: -1}})
	for _, markdown := range []bool{false, true} {
		short, long := textOf(t, c, markdown, false), textOf(t, c, markdown, true)
		if len(short) > 8000 || !strings.Contains(short, "cut: 524288 characters in 1 line; --full prints all") || !utf8.ValidString(short) {
			t.Errorf("markdown %v: %d bytes", markdown, len(short))
		}
		if strings.Count(long, "é") != 1<<19 || strings.Contains(long, "cut:") {
			t.Errorf("markdown %v: %d bytes", markdown, len(long))
		}
	}
}

// TestHostileMarkdown checks that a text cannot leave its fence, and a name is no
// HTML.
func TestHostileMarkdown(t *testing.T) {
	c := conversationOf(t, []formats.Message{{Parent: -1, Role: "<script>", Name: "![x](http://h)", Content: "a\n````\n# heading\n```", Call: -1}})
	text := textOf(t, c, true, false)
	for _, want := range []string{"&lt;script&gt; \\!\\[x\\](http://h)", "\n`````\na\n````\n# heading\n```\n`````\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestGroups compares a group's members, of a wide and of a thin dataset.
func TestGroups(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	rollout, score := looktest.ScoredRun(t, root, randomtest.Options{Groups: 20, Generations: 3, Scored: true, SampledTokens: 30, PromptTokens: 30},
		func(r *formats.Trajectory, s *formats.Score) {
			s.TrajectoryID = r.TrajectoryID
		})
	for _, d := range []*dataset.Dataset{rollout, score} {
		g, err := Compare(t.Context(), d.URI(), "example-000007@0")
		if err != nil || len(g.Members) != 3 || g.Members[0].Row != 21 || g.Shared >= g.Members[0].Messages || g.Members[1].Differs == "" {
			t.Errorf("%s: %+v, %v", d.URI(), g, err)
		}
	}
	_, err := Compare(t.Context(), score.URI(), "example-7")
	var bad *fault.Error
	if !errors.As(err, &bad) || !strings.Contains(bad.Help, "example-000000@0, example-000001@0") {
		t.Errorf("%v", err)
	}
}

func TestBranchWithoutAMessageBeforeIt(t *testing.T) {
	row := &formats.Trajectory{Messages: []formats.Message{{Parent: -1}, {Parent: -1, Branch: "retry"}}}
	if got := BranchOf(row, Place{Number: 1, After: -1}); got != "the agent asked again, from its own beginning" {
		t.Error(got)
	}
}
