package calls

import (
	"fmt"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/validate"
)

// TestConversationsThatBeginAlikeAreLinkedApart: what is linked in memory is the calls of one conversation, although
// all have the same first prompt; a call with several answers stays with what follows on each of them.
func TestConversationsThatBeginAlikeAreLinkedApart(t *testing.T) {
	j := NewJoiner(Options{Dir: t.TempDir(), Memory: 1 << 20})
	defer j.Close()
	var metas []*meta
	var of []int
	for conversation := range 20 {
		for turn := range 3 {
			var c importers.Conversation
			for k := range turn + 1 {
				c.Input(formats.Message{Role: "user", Content: fmt.Sprint("question ", k)})
				if k < turn {
					c.Input(formats.Message{Role: "assistant", Content: fmt.Sprint("answer ", conversation, k)})
				}
			}
			answer := formats.Message{Role: "assistant", Content: fmt.Sprint("<think>of it</think> answer ", conversation, turn)}
			c.Sampled(answer, formats.Call{Target: true, Model: "m"})
			item := importers.Item{Row: formats.Trajectory{TrajectoryID: fmt.Sprint(conversation, "-", turn)}}
			c.Into(&item.Row)
			if conversation == 1 && turn == 0 { // the first answer of another conversation is a choice of the same call
				other := item.Row.Messages[1]
				other.Content = "answer 0 0"
				item.Row.Messages = append(item.Row.Messages, other)
			}
			call, err := New(item, "", validate.Source{})
			if err == nil {
				err = j.Add(call)
			}
			if err != nil {
				t.Fatal(err)
			}
			metas, of = append(metas, &call.meta), append(of, max(conversation, 1))
		}
	}
	places := map[string]int{}
	for i, m := range metas {
		at := string(j.place(m)[:partitionBytes])
		if before, some := places[at]; some && before != of[i] {
			t.Errorf("conversations %d and %d are linked together", before, of[i])
		}
		places[at] = of[i]
	}
	if len(places) != 19 {
		t.Errorf("%d places for 19 conversations", len(places))
	}
}
