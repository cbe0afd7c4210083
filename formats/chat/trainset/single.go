package trainset

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// UnpairedOf labels each member of a group without labels of its own (see
// Labelled), if it answered with one message: good when its advantage is
// positive, bad when it is negative. If it has no advantage, its reward is
// compared with the mean of the group's. skip is called with the reason for
// each member that gives no row.
func UnpairedOf(rows []formats.Trajectory, skip func(reason string)) []Unpaired {
	mean := meanReward(rows)
	var out []Unpaired
	for i := range rows {
		t := &rows[i]
		if !scored(t) || cut(t) < 0 {
			skip(NoScore(rows[i : i+1]))
			continue
		}
		edge := *t.Reward - mean
		if t.Advantage != nil {
			edge = *t.Advantage
		}
		if math.Abs(edge) <= tolerance {
			skip(Tie)
			continue
		}
		prompt, answer, tools, reason := split(t)
		if reason != "" {
			skip(reason)
			continue
		}
		out = append(out, Unpaired{Prompt: prompt, Completion: answer, Label: edge > 0, Tools: tools,
			Score: jsontext.Float(*t.Reward), TrajectoryID: t.TrajectoryID})
	}
	return out
}

func meanReward(rows []formats.Trajectory) float64 {
	sum, n := 0.0, 0.0
	for i := range rows {
		if r := rows[i].Reward; r != nil && !math.IsNaN(*r) {
			sum, n = sum+*r, n+1
		}
	}
	return sum / max(n, 1)
}

// Top returns the indexes of a group's n best members with a reward and an
// answer, the best first and the earlier one of equals; when n is negative all of
// them and then those that nothing scored, only the best when it is 0. In a group of which no member was scored,
// as an import may have, every member with an answer is as good as the others:
// all are returned. So Best(rows[i:i+1]) makes the conversation of each.
func Top(rows []formats.Trajectory, n int) []int {
	var places, unscored []int
	for i := range rows {
		switch t := &rows[i]; {
		case cut(t) < 0:
		case scored(t):
			places = append(places, i)
		case t.Status == outcomes.StatusOK || t.Status == outcomes.StatusTruncated: // it ended as an attempt should
			unscored = append(unscored, i)
		}
	}
	if neverScored(rows) {
		return unscored
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(*rows[b].Reward, *rows[a].Reward) })
	if n < 0 {
		return append(places, slices.DeleteFunc(unscored, func(i int) bool { return len(rows[i].Rewards) > 0 })...)
	}
	return places[:min(len(places), max(n, 1))]
}

// NoScore returns why none of some rows is among the best: Unscored, or Empty if nothing
// was sampled.
func NoScore(rows []formats.Trajectory) string {
	if slices.ContainsFunc(rows, func(t formats.Trajectory) bool { return cut(&t) >= 0 }) {
		return Unscored
	}
	return Empty
}

func scored(t *formats.Trajectory) bool { return t.Reward != nil && !math.IsNaN(*t.Reward) }

// neverScored reports whether no member of a group has a reward, or a component that failed.
func neverScored(rows []formats.Trajectory) bool {
	for i := range rows {
		if scored(&rows[i]) || len(rows[i].Rewards) > 0 {
			return false
		}
	}
	return true
}

// Choice is which members of a group supervised training imitates.
type Choice struct {
	Best  int      `yaml:"best" json:"best"`                         // how many: see Top
	Floor *float64 `yaml:"solved-threshold" json:"solved-threshold"` // the least reward; nil: any
}

// Unsolved is the reason of a member whose reward is below the floor, or is none.
const Unsolved = "unsolved"

// Each calls f with each of a group's best members alone, and why that one is not imitated;
// if there is none, with the whole group, from which no row can be made.
func (c Choice) Each(rows []formats.Trajectory, f func(rows []formats.Trajectory, reason string) error) error {
	places := Top(rows, c.Best)
	if places == nil {
		return f(rows, "")
	}
	for _, i := range places {
		reason := ""
		if r := rows[i].Reward; c.Floor != nil && (r == nil || *r < *c.Floor) {
			reason = Unsolved
		}
		if err := f(rows[i:i+1], reason); err != nil {
			return err
		}
	}
	return nil
}

// Imitated counts the conversations that are imitated, and those below the floor; without
// one, those below 1, the usual reward of what is solved.
type Imitated struct {
	Choice
	all, below int64
}

// Add counts a group's members.
func (m *Imitated) Add(rows []formats.Trajectory) {
	for _, i := range Top(rows, m.Best) {
		m.all++
		if r := rows[i].Reward; r != nil && *r < *cmp.Or(m.Floor, new(1.0)) {
			m.below++
		}
	}
}

// Note returns a warning, or nothing.
func (m *Imitated) Note() (notes []string) {
	switch {
	case m.below == 0:
	case m.Floor != nil:
		notes = append(notes, fmt.Sprintf("%d of %d conversations to imitate are left out: their reward is below %v", m.below, m.all, *m.Floor))
	default:
		notes = append(notes, fmt.Sprintf("%d of %d conversations to imitate have a reward below 1 (--solved-threshold X leaves out those below X)",
			m.below, m.all))
	}
	return notes
}

// Best returns the conversation of a group's best member, the first of equals.
// Every assistant message in it was sampled, and it has everything that was
// sampled.
func Best(rows []formats.Trajectory) (c Conversation, reason string) {
	top := Top(rows, 1)
	if len(top) == 0 {
		return c, NoScore(rows)
	}
	t := &rows[top[0]]
	path, reason := Whole(t)
	if reason != "" {
		return c, reason
	}
	messages, ok := chat.TextMessages(t, path)
	if !ok {
		return c, Parts
	}
	c = Conversation{Messages: messages, Tools: chat.ToolsOf(t, path[len(path)-1]), TrajectoryID: t.TrajectoryID}
	if t.Reward != nil {
		c.Score = (*jsontext.Float)(t.Reward)
	}
	return c, ""
}

// Whole returns the main path up to its last sampled message, if everything that
// is to be trained is on it and the policy sampled every answer in it; else the
// reason is Branches or Others.
func Whole(t *formats.Trajectory) (path []int, reason string) {
	last := -1
	on := make([]bool, len(t.Messages))
	path = t.Main()
	for at, i := range path {
		on[i] = true
		if t.Trained(i) {
			last = at
		}
	}
	for i := range t.Messages {
		if t.Trained(i) && !on[i] {
			return nil, Branches
		}
	}
	path = path[:last+1]
	for _, i := range path {
		if t.Messages[i].Role == "assistant" && !t.Trained(i) {
			return nil, Others
		}
	}
	return path, ""
}
