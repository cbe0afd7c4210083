package tree_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/tree"
)

// TestAnswersThatWereNotChosenBecomeCandidates.
func TestAnswersThatWereNotChosenBecomeCandidates(t *testing.T) {
	said := func(parent int32, text string, call int32, branch string) formats.Message {
		return formats.Message{Parent: parent, Role: "assistant", Content: text, Sampled: true, Call: call, Branch: branch, TokenIDs: []int32{call},
			Logprobs: []float32{-1}}
	}
	asked := func(parent int32, text string) formats.Message {
		return formats.Message{Parent: parent, Role: "user", Content: text, Call: -1}
	}
	calls := []formats.Call{{Target: true}, {Target: true}, {Target: true}, {}}
	for name, c := range map[string]struct {
		messages []formats.Message
		kept     []string
		aside    []string
	}{
		"two choices, the second goes on": {
			[]formats.Message{asked(-1, "q"), said(0, "a", 0, ""), said(0, "b", 0, "choice"), asked(2, "go on"), said(3, "c", 1, "")},
			[]string{"-1 q", "0 b", "1 go on", "2 c"}, []string{"1 a alternative"},
		},
		"two choices at the end": {
			[]formats.Message{asked(-1, "q"), said(0, "a", 0, ""), said(0, "b", 0, "choice")},
			[]string{"-1 q", "0 a"}, []string{"1 b alternative"},
		},
		"asked again at the end": {
			[]formats.Message{asked(-1, "q"), said(0, "a", 0, ""), said(0, "b", 1, "retry")},
			[]string{"-1 q", "0 b"}, []string{"1 a retried"},
		},
		"asked again, and the first goes on": {
			[]formats.Message{asked(-1, "q"), said(0, "a", 0, ""), said(0, "b", 1, "retry"), asked(1, "go on"), said(3, "c", 2, "")},
			[]string{"-1 q", "0 a", "1 go on", "2 c"}, []string{"1 b retried"},
		},
		"both go on": {
			[]formats.Message{asked(-1, "q"), said(0, "a", 0, ""), said(0, "b", 0, "choice"), asked(1, "x"), asked(2, "y"), said(4, "c", 1, "")},
			[]string{"-1 q", "0 a", "0 b", "1 x", "2 y", "4 c"}, nil,
		},
		"the last answer of all, to a prompt whose first answer went on": {
			[]formats.Message{asked(-1, "q"), said(0, "a", 0, ""), asked(1, "is it good?"), said(2, "no", 1, ""), said(0, "b", 2, "retry")},
			[]string{"-1 q", "0 a", "1 is it good?", "2 no", "0 b"}, nil,
		},
		"of another model": {
			[]formats.Message{asked(-1, "q"), said(0, "a", 3, ""), said(0, "b", 3, "choice")},
			[]string{"-1 q", "0 a", "0 b"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			messages, candidates := tree.SplitAlternatives(c.messages, calls)
			var kept, aside []string
			for _, m := range messages {
				kept = append(kept, fmt.Sprintf("%d %s", m.Parent, m.Content))
			}
			for _, a := range candidates {
				aside = append(aside, fmt.Sprintf("%d %s %s", a.Message, a.Content, a.Reason))
				if a.Call == nil || a.TokenIDs == nil || a.Logprobs == nil {
					t.Errorf("%+v", a)
				}
			}
			if d := cmp.Diff(c.kept, kept); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.aside, aside); d != "" {
				t.Error(d)
			}
		})
	}
}
