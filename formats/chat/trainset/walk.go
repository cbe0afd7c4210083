package trainset

import (
	"fmt"

	"github.com/rollmill/rollmill/formats"
)

// Preferences iterates over a batch's groups and returns their preferences:
// those of the batch's own pairs, or without such a table each group's best
// member against its worst. Close it.
type Preferences struct {
	*formats.GroupCursor[formats.Pair]
}

// NewPreferences returns an iterator at the first group.
func NewPreferences(t formats.Tables) *Preferences {
	return &Preferences{formats.NewGroupCursor(t.Pairs, func(p *formats.Pair) string { return p.GroupID })}
}

// Of calls f with each preference of a group, or with the reason why there is
// none; the ids are those of the pair in both cases. It must be called for
// every group, in the batch's order.
func (p *Preferences) Of(rows []formats.Trajectory, f func(p Preference, reason string) error) error {
	if p.GroupCursor == nil {
		return f(Pair(rows))
	}
	return p.GroupCursor.Of(rows[0].Group(), func(pair *formats.Pair) error {
		made, reason := Compared(pair)
		made.ChosenID, made.RejectedID = pair.ChosenID, pair.RejectedID
		return f(made, reason)
	})
}

// Labels iterates over a batch's groups and returns their single answers: those
// of the batch's own labels, or without such a table those that the advantages
// make good or bad. Close it.
type Labels struct {
	*formats.GroupCursor[formats.Label]
}

// NewLabels returns an iterator at the first group.
func NewLabels(t formats.Tables) *Labels {
	return &Labels{formats.NewGroupCursor(t.Labels, func(l *formats.Label) string { return l.GroupID })}
}

// Of is like Of of Preferences.
func (l *Labels) Of(rows []formats.Trajectory, f func(u Unpaired, reason string) error) error {
	if l.GroupCursor != nil {
		return l.GroupCursor.Of(rows[0].Group(), func(label *formats.Label) error {
			made, reason := Labelled(label)
			made.TrajectoryID = label.TrajectoryID
			return f(made, reason)
		})
	}
	var failed error
	made := UnpairedOf(rows, func(reason string) {
		if failed == nil {
			failed = f(Unpaired{}, reason)
		}
	})
	for i := range made {
		if failed == nil {
			failed = f(made[i], "")
		}
	}
	return failed
}

// Balance counts single answers of each kind and computes the weights that
// balance them (formats.KTOWeights): TRL's desirable_weight and
// undesirable_weight, OpenRLHF's desirable_loss_weight and
// undesirable_loss_weight.
type Balance struct {
	Desirable         int64   `json:"desirable"`
	Undesirable       int64   `json:"undesirable"`
	DesirableWeight   float64 `json:"desirable_weight"`
	UndesirableWeight float64 `json:"undesirable_weight"`
}

// OneClass says that there are answers of one kind only, from which KTO learns nothing.
func (b *Balance) OneClass() string {
	if b == nil || (b.Desirable > 0) == (b.Undesirable > 0) {
		return ""
	}
	return fmt.Sprintf("KTO needs good and bad answers, and these are %d good and %d bad", b.Desirable, b.Undesirable)
}

// Add counts an answer.
func (b *Balance) Add(label bool) {
	if label {
		b.Desirable++
	} else {
		b.Undesirable++
	}
	b.DesirableWeight, b.UndesirableWeight = formats.KTOWeights(b.Desirable, b.Undesirable)
}
