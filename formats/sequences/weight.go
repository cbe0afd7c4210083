package sequences

// Per is what is worth the same in training.
type Per string

// What is worth the same.
const (
	Trajectory   Per = "trajectory"
	EachSequence Per = "sequence"
	Token        Per = "token"
)

// Pers lists them, in the order of help.
var Pers = []Per{Trajectory, EachSequence, Token}

// Aggregate is how a trainer adds up the loss of tokens.
type Aggregate string

// How trainers aggregate.
const (
	TokenMean    Aggregate = "token mean"    // the mean over all tokens of a batch, or their sum over a constant
	SequenceMean Aggregate = "sequence mean" // the mean over sequences of the mean over their tokens
)

// Aggregates lists them.
var Aggregates = []Aggregate{TokenMean, SequenceMean}

// Totals count a batch.
type Totals struct {
	Trajectories int64 `json:"trajectories"` // that give sequences
	Sequences    int64 `json:"sequences"`
	Tokens       int64 `json:"tokens"` // that train
}

// Add counts the sequences of one trajectory.
func (t *Totals) Add(list []Sequence) {
	if len(list) > 0 {
		t.Trajectories++
	}
	t.Sequences += int64(len(list))
	t.Tokens += Tokens(list)
}

// Tokens returns how many tokens of a trajectory train.
func Tokens(list []Sequence) (n int64) {
	for i := range list {
		n += int64(list[i].Tokens)
	}
	return n
}

// Weights are those of a batch's sequences. Nil gives each the weight 1.
type Weights struct {
	Per Per
	Totals
}

// Of returns the weight of a sequence for a trainer that aggregates in a way. list
// is all sequences of its trajectory. It is positive.
func (w *Weights) Of(by Aggregate, s *Sequence, list []Sequence) float64 {
	if w == nil {
		return 1
	}
	perTrajectory, perSequence := float64(w.Tokens)/float64(w.Trajectories), float64(w.Tokens)/float64(w.Sequences)
	switch {
	case w.Per == Trajectory && by == SequenceMean:
		return float64(w.Sequences) / float64(w.Trajectories) * float64(s.Tokens) / float64(Tokens(list))
	case w.Per == Trajectory:
		return perTrajectory / float64(Tokens(list))
	case w.Per == EachSequence && by == TokenMean:
		return perSequence / float64(s.Tokens)
	case w.Per == Token && by == SequenceMean:
		return float64(s.Tokens) / perSequence
	}
	return 1
}
