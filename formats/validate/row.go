package validate

import (
	"cmp"

	"github.com/rollmill/rollmill/formats"
)

// Row is a row of a main table, whatever its kind: exactly one of the last
// three is set. Who gets one keeps nothing of it: its bytes are used again.
type Row struct {
	Number       int64
	TrajectoryID string
	Group        string // neighbours have the same when they are of one group
	Status       string
	Reward       *float64
	Tokens       *int32 // sampled; nil when the base of a thin dataset is not here
	Base         string // the trajectory of the base's row; "" when it is not here, or this is wide

	Trajectory *formats.Trajectory
	Score      *formats.Score
	Member     *formats.Member
}

// WideRow is row n of a wide dataset.
func WideRow(n int64, t *formats.Trajectory) Row {
	return Row{Number: n, TrajectoryID: t.TrajectoryID, Status: t.Status, Reward: t.Reward, Tokens: &t.SampledTokens, Trajectory: t,
		Group: cmp.Or(t.GroupID, formats.GroupID(t.ExampleID, int(t.Epoch)))}
}

// Valid reports whether the trajectory itself can be trained on.
func (r *Row) Valid() bool {
	return r.Status == formats.StatusOK || r.Status == formats.StatusTruncated
}

// trained calls f with each message of a valid wide row that trains, until f
// returns false.
func (r *Row) trained(f func(i int, m *formats.Message) bool) {
	if r.Trajectory == nil || !r.Valid() {
		return
	}
	for i := range r.Trajectory.Messages {
		if r.Trajectory.Trained(i) && !f(i, &r.Trajectory.Messages[i]) {
			return
		}
	}
}
