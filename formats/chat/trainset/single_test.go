package trainset

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
)

func member(reward float64, messages ...formats.Message) formats.Trajectory {
	t := formats.Trajectory{TrajectoryID: "t", Reward: &reward, Messages: messages}
	for range messages {
		t.Calls = append(t.Calls, formats.Call{Target: true, Tools: -1})
	}
	return t
}

func ask() formats.Message { return formats.Message{Parent: -1, Role: "user", Content: "q", Call: -1} }

func say(parent, call int32) formats.Message {
	return formats.Message{Parent: parent, Role: "assistant", Content: "a", Sampled: true, Call: call}
}

func TestReasonsOfUnlabelledAnswers(t *testing.T) {
	plus, minus, even := 0.5, -0.5, 0.0
	good, bad, same, none := member(1, ask(), say(0, 0)), member(0, ask(), say(0, 0)), member(0.5, ask(), say(0, 0)), member(0, ask())
	long, aside := member(1, ask(), say(0, 0), say(1, 1)), member(0, ask(), say(0, 0), ask(), say(2, 1))
	bare := member(0, ask(), say(0, 0))
	bare.Reward = nil
	good.Advantage, bad.Advantage, same.Advantage = &minus, &plus, &even // the advantage decides, not the reward
	var reasons []string
	got := UnpairedOf([]formats.Trajectory{good, bad, same, none, long, aside, bare}, func(r string) { reasons = append(reasons, r) })
	if len(got) != 2 || got[0].Label || !got[1].Label || len(got[0].Prompt) != 1 || len(got[0].Completion) != 1 {
		t.Errorf("%+v", got)
	}
	if want := []string{Tie, Empty, Turns, Branches, Unscored}; !slices.Equal(reasons, want) {
		t.Errorf("%v, want %v", reasons, want)
	}
}

func TestWithoutAdvantagesTheMeanDecides(t *testing.T) {
	got := UnpairedOf([]formats.Trajectory{member(1, ask(), say(0, 0)), member(0, ask(), say(0, 0))}, func(r string) { t.Error(r) })
	if len(got) != 2 || !got[0].Label || got[1].Label {
		t.Errorf("%+v", got)
	}
}

func TestEqualAnswersGiveNoPair(t *testing.T) {
	other := say(0, 0)
	other.Content = "b"
	if _, reason := Pair([]formats.Trajectory{member(1, ask(), say(0, 0)), member(0, ask(), say(0, 0))}); reason != Same {
		t.Error(reason)
	}
	if _, reason := Pair([]formats.Trajectory{member(1, ask(), other), member(0, ask(), say(0, 0))}); reason != "" {
		t.Error(reason)
	}
}

func TestTheBestConversation(t *testing.T) {
	given := formats.Message{Parent: 0, Role: "assistant", Content: "an example", Call: -1}
	for name, c := range map[string]struct {
		rows   []formats.Trajectory
		reason string
		length int
	}{
		"the best of two":    {[]formats.Trajectory{member(0, ask(), say(0, 0), say(1, 1)), member(1, ask(), say(0, 0))}, "", 2},
		"all turns":          {[]formats.Trajectory{member(1, ask(), say(0, 0), say(1, 1))}, "", 3},
		"cut after the last": {[]formats.Trajectory{member(1, ask(), say(0, 0), formats.Message{Parent: 1, Role: "tool", Content: "x", Call: -1})}, "", 2},
		"a branch":           {[]formats.Trajectory{member(1, ask(), say(0, 0), ask(), say(2, 1))}, Branches, 0},
		"a turn not sampled": {[]formats.Trajectory{member(1, ask(), given, say(1, 0))}, Others, 0},
		"nothing sampled":    {[]formats.Trajectory{member(1, ask())}, Empty, 0},
		"content that is parts": {[]formats.Trajectory{member(1, formats.Message{Parent: -1, Role: "user", ContentParts: "[]", Call: -1},
			say(0, 0))}, Parts, 0},
	} {
		got, reason := Best(c.rows)
		if reason != c.reason || len(got.Messages) != c.length {
			t.Errorf("%s: %q, %+v", name, reason, got)
		}
	}
}

func TestTheTopOfAGroup(t *testing.T) {
	bare := member(9, ask(), say(0, 0))
	bare.Reward = nil
	rows := []formats.Trajectory{member(0.5, ask(), say(0, 0)), member(1, ask(), say(0, 0)), member(7, ask()), bare, member(0.5, ask(), say(0, 0)),
		member(1, ask(), say(0, 0))}
	for n, want := range map[int][]int{-1: {1, 5, 0, 4}, 0: {1}, 1: {1}, 3: {1, 5, 0}, 9: {1, 5, 0, 4}} {
		if got := Top(rows, n); !slices.Equal(got, want) {
			t.Errorf("%d: %v, want %v", n, got, want)
		}
	}
	sizes := []int{}
	if err := (Choice{Best: 2}).Each(rows[2:4], func(rows []formats.Trajectory, _ string) error { sizes = append(sizes, len(rows)); return nil }); err != nil ||
		!slices.Equal(sizes, []int{2}) {
		t.Errorf("nobody answered: %v, %v", sizes, err)
	}
}

// TestChoiceWithAFloor: conversations below it are left out with a reason, and counted;
// without one those below 1 are counted.
func TestChoiceWithAFloor(t *testing.T) {
	of := func(reward float64) formats.Trajectory {
		return formats.Trajectory{Status: outcomes.StatusOK, Reward: &reward, Calls: []formats.Call{{Target: true}},
			Messages: []formats.Message{{Parent: -1, Role: "user", Content: "q", Call: -1}, {Parent: 0, Role: "assistant", Content: "a", Sampled: true}}}
	}
	for _, c := range []struct {
		floor     *float64
		left, say string
	}{{nil, "0.8 0.4", "2 of 2 conversations to imitate have a reward below 1"}, {new(0.5), "0.8", "1 of 2 conversations to imitate are left out"}, {new(0.4), "0.8 0.4", ""}} {
		m := Imitated{Choice: Choice{Best: 2, Floor: c.floor}}
		rows := []formats.Trajectory{of(0.4), of(0.8), of(0.1)}
		m.Add(rows)
		var left []string
		if err := m.Each(rows, func(some []formats.Trajectory, reason string) error {
			if reason == "" {
				left = append(left, fmt.Sprint(*some[0].Reward))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if got, note := strings.Join(left, " "), strings.Join(m.Note(), " "); got != c.left || !strings.HasPrefix(note, c.say) || (note == "") != (c.say == "") {
			t.Errorf("floor %v: %q, %q", c.floor, got, note)
		}
	}
}
