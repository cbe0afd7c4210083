package tree_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/tree"
)

// TestAuxiliaryCallsAreToldByStructure: by the tools of the calls below each root.
func TestAuxiliaryCallsAreToldByStructure(t *testing.T) {
	asked := func(parent int32) formats.Message { return formats.Message{Parent: parent, Role: "user", Call: -1} }
	said := func(parent, call int32) formats.Message {
		return formats.Message{Parent: parent, Role: "assistant", Sampled: true, Call: call}
	}
	with, without := formats.Call{Target: true, Tools: 0}, formats.Call{Target: true, Tools: -1}
	judge := formats.Call{Tools: 0}
	two := []formats.Message{asked(-1), said(0, 0), asked(-1), said(2, 1), asked(3), said(4, 2)}
	for name, c := range map[string]struct {
		messages []formats.Message
		calls    []formats.Call
		prompts  []int
		want     []bool
	}{
		"a title":                               {two, []formats.Call{without, with, with}, nil, []bool{true, false, false}},
		"a conversation that once offers tools": {two, []formats.Call{with, without, with}, nil, []bool{false, false, false}},
		"a sub-agent without tools":             {two, []formats.Call{with, without, without}, nil, []bool{false, true, true}},
		"no tools at all":                       {two, []formats.Call{without, without, without}, nil, nil},
		"tools everywhere":                      {two, []formats.Call{with, with, with}, nil, nil},
		"a judge with tools":                    {two, []formats.Call{judge, without, without}, nil, nil},
		"one root":                              {two[:2], []formats.Call{without}, nil, nil},
		"a title without an answer":             {append(two[2:3:3], formats.Message{Parent: -1}, said(1, 1)), []formats.Call{without, with}, []int{0, -1}, []bool{true, false}},
		"tools of a call without an answer":     {append(two[2:3:3], formats.Message{Parent: -1}, said(1, 1)), []formats.Call{with, without}, []int{0}, []bool{false, true}},
		"nothing says where a call belongs":     {two[:2], []formats.Call{with, without}, []int{-1}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := tree.Auxiliary(c.messages, c.calls, c.prompts)
			for i := range got { // nil says that none is
				if got[i] {
					break
				} else if i == len(got)-1 {
					t.Errorf("%v, not nil", got)
				}
			}
			if got == nil {
				got = make([]bool, len(c.calls))
			}
			if c.want == nil {
				c.want = make([]bool, len(c.calls))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
