package validate

import (
	"strings"

	"github.com/rollmill/rollmill/formats"
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
	whole     string // why chat.Whole refuses the row
	hasWhole  bool
	unread    unread
	hasUnread bool
	messages  []said
}

// Source is where a row of an import comes from, and what only the source says
// about it.
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

// trained calls f with each message of a valid wide row that is trained, until
// f returns false.
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
