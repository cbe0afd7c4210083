package exporters

import (
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/training"
)

// Credit is how finely a format says what of a trajectory trains how much.
type Credit int

const (
	NoCredit       Credit = iota // its reader trains by none, or it holds every column
	OfTrajectories               // one advantage, or the reward from which the trainer computes it
	OfTokens                     // an advantage of each token
	OfLosses                     // and the weights of each token in the losses rl, ce and ref_kl
)

// Lacks returns what a row says of single messages and the format has no place for, or "".
func (f Format) Lacks(t *formats.Trajectory) string {
	switch {
	case f.Credit == NoCredit:
	case f.Credit < OfTokens && t.Advantages != nil:
		return "advantages of single messages"
	case f.Credit < OfLosses && slices.ContainsFunc(t.Losses, func(l training.MessageLoss) bool {
		return l.Loss != training.LossRL || l.Weight != 1
	}):
		return "losses of single messages"
	}
	return ""
}

// Why a row with something that its format Lacks is refused, and what to do.
const (
	MessageCredit = "message_credit"
	LacksHint     = "--advantages trajectory leaves them out, and each token has its trajectory's; sequences and prime-rl hold them"
)

// Advantages says whose advantages rows are made with.
type Advantages string

// The advantages; "" is OfMessages.
const (
	OfMessages   Advantages = "messages"
	OfTrajectory Advantages = "trajectory"
)

// Apply leaves out the advantages and losses of single messages, if OfTrajectory.
func (a Advantages) Apply(rows []formats.Trajectory) {
	for i := range rows {
		if a == OfTrajectory {
			rows[i].Advantages, rows[i].Losses = nil, nil
		}
	}
}
