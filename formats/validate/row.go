package validate

import (
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/training"
)

// Row is a row of a main table of any kind, or of an import's source: exactly one
// of Trajectory, Score and Member is set. A function that gets one must not keep
// it: its memory is reused.
type Row struct {
	Number       int64
	TrajectoryID string
	Group        string // equal for adjacent rows of the same group
	Status       string
	Reward       *float64
	Tokens       *int32 // sampled; nil when the base of a thin dataset is not available
	Base         string // the trajectory of the base's row; "" when it is not available, or this is wide

	Trains training.Training
	Fork   bool // it continues a prefix

	Trajectory *formats.Trajectory
	Score      *formats.Score
	Member     *formats.Member

	Source *Source // of an import; nil for a row of a dataset

	// What several checks ask of a wide row is found out once.
	traits    traits
	hasTraits bool
	whole     string // why trainset.Whole refuses the row
	hasWhole  bool
	unread    unread
	hasUnread bool
	messages  []said
}

// Source is where a row of an import comes from, and what only the source says about it.
type Source struct {
	File   string // its name; the report shows it, so it is without credentials
	Line   int64  // from 1; 0 when the file has no lines
	Record int64  // from 0
	ID     string // the source's own id; "" when it has none

	// Preferred is true for the chosen answer of a pair or one that is labelled
	// good, false for a rejected or bad one, and nil when the source does not say.
	Preferred *bool
}

// WideRow returns row n of a wide dataset.
func WideRow(n int64, t *formats.Trajectory) Row {
	return Row{Number: n, TrajectoryID: t.TrajectoryID, Status: t.Status, Reward: t.Reward, Tokens: &t.SampledTokens,
		Trajectory: t,
		Group:      t.Group(), Fork: t.ForkCall != nil}
}

// ScoreRow returns row n of a dataset of scores, without its base.
func ScoreRow(n int64, s *formats.Score) Row {
	group := formats.GroupID(s.ExampleID, int(s.Epoch))
	return Row{Number: n, TrajectoryID: s.TrajectoryID, Group: group, Status: s.Status, Reward: s.Reward, Score: s}
}

// MemberRow returns row n of a dataset of groups, without its base.
func MemberRow(n int64, m *formats.Member) Row {
	return Row{Number: n, TrajectoryID: m.TrajectoryID, Group: m.GroupID, Status: m.Status, Reward: m.Reward, Member: m}
}

// Valid reports whether the trajectory itself can be trained on.
func (r *Row) Valid() bool { return valid(r.Status) }

func valid(status string) bool {
	return status == outcomes.StatusOK || status == outcomes.StatusTruncated
}

// wide returns the trajectory of a valid wide row, else nil.
func (r *Row) wide() *formats.Trajectory {
	if r.Trajectory == nil || !r.Valid() {
		return nil
	}
	return r.Trajectory
}

// trained calls f with each message of a valid wide row that is trained, until f returns false.
func (r *Row) trained(f func(i int, m *formats.Message) bool) {
	t := r.wide()
	if t == nil {
		return
	}
	for i := range t.Messages {
		if t.Trained(i) && !f(i, &t.Messages[i]) {
			return
		}
	}
}

// kept is what identifies a row that is remembered.
type kept struct {
	number int64
	id     string
}

func keep(r *Row) kept { return kept{r.Number, strings.Clone(r.TrajectoryID)} }

// traits are what one pass over the messages of a trajectory shows. A message is given
// by its index, and is -1 when there is none.
type traits struct {
	assistant, system bool // some message has such a role
	calls, parts      bool // some message has tool calls, or content that is not text
	foreign           bool // some assistant message is not trained
	branched          bool // some message does not continue the one before it
	lost              bool // the ids before the message that was looked at last are not all known

	trained  int // messages
	logprobs int // of them with logprobs

	last           int // the last message that is trained
	noIDs          int // the first without token ids
	noLogprobs     int // the first, if none has logprobs
	partlyLogprobs int // the first without logprobs, if another has some
	noPrompt       int // the first with token ids whose prompt's ids are unknown
	unequal        int // the first with another number of logprobs than of token ids
}

// shows returns the traits of a valid wide row, or nil.
func (r *Row) shows() *traits {
	t := r.wide()
	if t == nil {
		return nil
	}
	if !r.hasTraits {
		r.traits, r.hasTraits = traitsOf(t), true
	}
	return &r.traits
}

func traitsOf(t *formats.Trajectory) traits {
	s := traits{last: -1, noIDs: -1, noLogprobs: -1, partlyLogprobs: -1, noPrompt: -1, unequal: -1}
	for i := range t.Messages {
		m, trained := &t.Messages[i], t.Trained(i)
		switch m.Role {
		case "assistant":
			s.assistant = true
			s.foreign = s.foreign || !trained
		case "system", "developer":
			s.system = true
		}
		s.calls = s.calls || len(m.ToolCalls) > 0
		s.parts = s.parts || !chat.IsText(m)
		s.branched = s.branched || int(m.Parent) != i-1
		if known := m.TokenIDs != nil && m.PromptDeltaIDs != nil; m.Sampled && (!known || m.PrefixBreak != "") {
			s.lost = !known
		}
		if trained {
			s.train(i, m)
		}
	}
	if s.logprobs > 0 {
		s.noLogprobs, s.partlyLogprobs = -1, s.noLogprobs
	}
	return s
}

// train adds a trained message.
func (s *traits) train(i int, m *formats.Message) {
	first := func(at *int, is bool) {
		if is && *at < 0 {
			*at = i
		}
	}
	s.trained++
	s.last = i
	if m.NoTokens() {
		return
	}
	if len(m.Logprobs) > 0 {
		s.logprobs++
	}
	first(&s.noIDs, len(m.TokenIDs) == 0)
	first(&s.noLogprobs, len(m.Logprobs) == 0)
	first(&s.noPrompt, len(m.TokenIDs) > 0 && (m.PromptDeltaIDs == nil || s.lost && !s.branched))
	first(&s.unequal, unequal(m))
}
